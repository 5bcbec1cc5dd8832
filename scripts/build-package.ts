// `npm run build` in address/, element/, or shop/: compiles the package into dist/ or the folder in
// the argument. The workspaces import each other's sources through the exports in package.json. The
// published manifest maps the same exports to the compiled files.

import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const room = process.cwd();
const dist = resolve(process.argv[2] ?? join(room, "dist"));
const compiled = (path: string, ending: string) => path.replace(/\.ts$/, ending);

rmSync(dist, { recursive: true, force: true });
compile();
copyFileSync(join(room, "README.md"), join(dist, "README.md"));
copyFileSync(join(room, "../LICENSE"), join(dist, "LICENSE"));
writeFileSync(join(dist, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);

function compile() {
  const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
  const compiler = resolve(manifest, "../bin/tsc");
  const emit = ["--noEmit", "false", "--declaration", "--rewriteRelativeImportExtensions"];
  // The other packages import the library through a symbolic link in node_modules. With
  // --preserveSymlinks, TypeScript treats the library as an installed package. The importing
  // package then does not contain the library's compiled sources.
  const where = ["-p", room, "--rootDir", room, "--outDir", dist, "--preserveSymlinks"];
  execFileSync(process.execPath, [compiler, ...where, ...emit], { stdio: "inherit" });
}

function publishedManifest() {
  const {
    scripts,
    devDependencies,
    private: isPrivate,
    ...published
  } = JSON.parse(readFileSync(join(room, "package.json"), "utf8"));
  const entries = Object.entries(published.exports as Record<string, string>);
  const programs = Object.entries((published.bin ?? {}) as Record<string, string>);
  return {
    ...published,
    // In the repository, the program is bin.js, which starts cli.ts. The published program is
    // cli.js.
    ...(published.bin && {
      bin: Object.fromEntries(
        programs.map(([name, path]) => [name, path.replace(/bin\.js$/, "cli.js")]),
      ),
    }),
    exports: Object.fromEntries(
      entries.map(([name, path]) => [
        name,
        { types: compiled(path, ".d.ts"), default: compiled(path, ".js") },
      ]),
    ),
  };
}
