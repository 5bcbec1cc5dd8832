#!/usr/bin/env node
// The program `executable-address` in a clone, by the door of its npm scripts, since the machine's
// Node may be too old for the sources. The published package has cli.js in its place.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
