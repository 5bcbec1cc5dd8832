#!/usr/bin/env node
// `executable-address-shop` in a clone of the repository. This file starts the program through
// scripts/run.js, because the current Node may be too old for the sources. The published package
// contains cli.js instead.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
