// Builds the pages of web/ if they are missing or older than their sources.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const web = join(root, "web");
const built = join(web, "dist/index.html");

/**
 * Builds `web/dist` if it is missing or older than a source. Does nothing if the sources are not
 * installed. If the build tools are not installed (`--omit=optional`), only prints a message.
 * Without any pages, the service serves only the API.
 *
 * @throws {Error} if the build fails
 */
export function buildPages(): void {
  const stale = findNewerThanPages();
  if (stale.length === 0) return;
  if (!canBuild()) {
    const state = existsSync(built)
      ? "may be out of date"
      : "are not built: only the API is served";
    console.error(`The pages ${state}. To build them, run: npm ci && npm run build -w web`);
    return;
  }
  console.error("Building the pages ...");
  const build = [join(web, "build.ts")];
  const { status } = spawnSync(process.execPath, build, { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("building the pages failed; see vite's output above");
}

/** Returns the sources that have changed since the build. */
export function findNewerThanPages(): string[] {
  if (!existsSync(join(web, "index.html"))) return [];
  const sources = [
    ...["dashboard", "docs", "pay", "shown", "ui", "public"].flatMap((folder) =>
      filesOf(join(web, folder)),
    ),
    ...["index.html", "pay.html", "build.ts"].map((name) => join(web, name)),
    // The pages also contain code of the library and the element.
    ...filesOf(join(root, "address")),
    ...filesOf(join(root, "element")),
    ...filesOf(join(root, "docs")),
    join(root, "package-lock.json"),
  ];
  const changed = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const builtMs = changed(built);
  return sources.filter((path) => changed(path) > builtMs);
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\.(tsx?|css|js|svg|md)$/.test(path))
    .filter((path) => !/\.test\.|[\\/](bench|dist|node_modules|test)[\\/]/.test(path));
}

function canBuild(): boolean {
  try {
    createRequire(join(web, "package.json")).resolve("vite/package.json");
    return true;
  } catch {
    return false;
  }
}
