#!/usr/bin/env node
// The program `executable-address`. npm links it at install, when nothing is built yet, and leaves
// out what is not there: so this file is committed and what it runs is not.

import "./dist/cli/cli.js";
