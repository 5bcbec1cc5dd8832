#!/usr/bin/env node
// The program `executable-address` in a clone of the repository. scripts/run.js starts it, because
// the default Node can be too old. The published package contains cli.js instead.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
