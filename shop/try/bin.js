#!/usr/bin/env node
// The program `executable-address-shop` in a clone. The program starts through scripts/run.js,
// because the running Node may be too old for the sources. The published package contains cli.js
// instead of this file.

import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, fileURLToPath(new URL("cli.ts", import.meta.url)));
await import(new URL("../../scripts/run.js", import.meta.url).href);
