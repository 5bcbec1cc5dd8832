// npm run build -w address: compiles the library into dist/, or the folder it is given, a package
// as it is published. The workspaces import the sources by the exports of package.json; the
// manifest in dist says the same of what was compiled, so there is one list of exports, and no
// condition chooses between two.

import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const room = import.meta.dirname;
const dist = resolve(process.argv[2] ?? join(room, "dist"));

rmSync(dist, { recursive: true, force: true });
const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
const compiler = resolve(manifest, "../bin/tsc");
const emit = ["--noEmit", "false", "--declaration", "--rewriteRelativeImportExtensions"];
const where = ["-p", room, "--rootDir", room, "--outDir", dist];
execFileSync(process.execPath, [compiler, ...where, ...emit], { stdio: "inherit" });
copyFileSync(join(room, "README.md"), join(dist, "README.md"));
copyFileSync(join(room, "../LICENSE"), join(dist, "LICENSE"));
writeFileSync(join(dist, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);

function publishedManifest() {
  const {
    scripts,
    devDependencies,
    private: isPrivate,
    ...published
  } = JSON.parse(readFileSync(join(room, "package.json"), "utf8"));
  const compiled = (path: string, ending: string) => path.replace(/\.ts$/, ending);
  const entries = Object.entries(published.exports as Record<string, string>);
  return {
    ...published,
    bin: { "executable-address": "cli/cli.js" },
    exports: Object.fromEntries(
      entries.map(([name, path]) => [
        name,
        { types: compiled(path, ".d.ts"), default: compiled(path, ".js") },
      ]),
    ),
  };
}
