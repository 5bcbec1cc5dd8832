#!/usr/bin/env node
// Runs `executable-address-shop` in a clone of the repository. Uses scripts/run.js, because the
// current Node may be too old to run TypeScript. The published package contains cli.js instead.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
