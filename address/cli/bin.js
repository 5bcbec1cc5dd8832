#!/usr/bin/env node
// The program `executable-address` in a clone of the repository. It uses the same launcher as the
// npm scripts, because the default version of Node can be too old to run the sources. The published
// package contains cli.js instead.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
