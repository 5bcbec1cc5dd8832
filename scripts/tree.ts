// The repository's files and their imports, for the tests of the layout.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

export const root = resolve(import.meta.dirname, "..");

const skipped = /(^|\/)(node_modules|dist|out|cache|snapshots|\.git|\.data)$/;

const walk = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.test(path) ? [] : walk(path);
    return [path];
  });

/** The paths of all files from the root, without installed files, build output, and snapshots. */
export const files: readonly string[] = walk("");

export const sources: readonly string[] = files.filter((path) => /\.(ts|tsx|js|cjs)$/.test(path));

export const textOf: ReadonlyMap<string, string> = new Map(
  sources.map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** Returns whether a file belongs to tests or benches, which no other folder may import. */
export const isTest = (path: string): boolean =>
  /\.(test|bench)\.tsx?$|\/(bench|test|testing)\/|(^|\/)bench\.ts$|^e2e\//.test(path);

const importPattern = /(?:\bfrom\s*|\bimport\s*\(?\s*)"([^"]+)"|new URL\(\s*"([^"]+\.ts)"/g;

/**
 * Returns the module specifiers of all imports in a source file. Includes the `.ts` files
 * that the file opens with `new URL("…")`.
 */
export const readSpecifiers = (path: string): string[] =>
  [...textOf.get(path)!.matchAll(importPattern)].map(([, imported, opened]) => imported ?? opened!);

/** Resolves a relative specifier in the file `path`. Returns a path from the root. */
export const resolveImport = (path: string, specifier: string): string =>
  relative(root, resolve(root, dirname(path), specifier))
    .split(sep)
    .join("/");
