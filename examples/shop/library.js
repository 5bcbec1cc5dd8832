// The installed library as a page loads it: its modules as they are, found by an import map. A shop
// that has a bundler needs none of this.

import { readFile, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ours = dirname(dirname(fileURLToPath(import.meta.resolve("executable-address/element"))));
const { resolve } = createRequire(join(ours, "package.json"));
const folders = {
  "executable-address": ours,
  "@noble/hashes": dirname(resolve("@noble/hashes/sha3.js")),
  uqr: dirname(resolve("uqr")),
};

/** A page's import map has these. */
export const imports = {
  "executable-address/element": "/lib/executable-address/element/element.js",
  "executable-address/recovery": "/lib/executable-address/element/recovery.js",
  "@noble/hashes/": "/lib/@noble/hashes/",
  uqr: "/lib/uqr/index.mjs",
};

/** @param path of a request @returns the module's text, or undefined where there is none */
export async function readModule(path) {
  const name = Object.keys(folders).find((each) => path.startsWith(`/lib/${each}/`));
  if (!name || !/\.(m?js|json)$/.test(path)) return undefined;
  try {
    const folder = await realpath(folders[name]);
    const file = await realpath(join(folder, path.slice(`/lib/${name}/`.length)));
    return file.startsWith(folder + sep) ? await readFile(file) : undefined;
  } catch {
    return undefined;
  }
}
