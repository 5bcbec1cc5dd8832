// Serves the modules of the installed packages. Pages load them through an import map. A shop with
// a bundler does not need this file.

import { readFileSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const folderOf = (name) => dirname(fileURLToPath(import.meta.resolve(name)));
const packages = {
  "executable-address": folderOf("executable-address"),
  "executable-address-element": folderOf("executable-address-element"),
};
const resolveIn = (name) => createRequire(join(packages[name], "package.json")).resolve;
const folders = {
  ...packages,
  "@noble/hashes": dirname(resolveIn("executable-address")("@noble/hashes/sha3.js")),
  uqr: dirname(resolveIn("executable-address-element")("uqr")),
};

/**
 * The import map of a page. The map contains every path that the packages export, and the paths of
 * the packages' dependencies.
 */
export const imports = {
  ...Object.fromEntries(Object.entries(packages).flatMap(exportsOf)),
  "@noble/hashes/": "/lib/@noble/hashes/",
  uqr: "/lib/uqr/index.mjs",
};

function exportsOf([name, folder]) {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Object.entries(exports).map(([path, { default: file }]) => [
    path.replace(".", name),
    file.replace(".", `/lib/${name}`),
  ]);
}

/**
 * @param path of a request
 * @returns the module's text, or undefined if there is none
 */
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
