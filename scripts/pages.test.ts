import assert from "node:assert/strict";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, beforeEach, describe, mock, test } from "node:test";
import { pathToFileURL } from "node:url";

// In a temporary root folder, the tests can remove the built pages and write their own build
// program.
const root = realpathSync(mkdtempSync(join(tmpdir(), "pages-")));
after(() => rmSync(root, { recursive: true }));
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
for (const folder of ["dashboard", "docs", "pay", "shown", "ui", "public"])
  mkdirSync(join(root, "web", folder), { recursive: true });
for (const folder of ["address", "element", "docs"]) mkdirSync(join(root, folder));
write("web/package.json", '{"type":"module"}');
write("package-lock.json", "{}");
mkdirSync(join(root, "scripts"));
cpSync(join(import.meta.dirname, "pages.ts"), join(root, "scripts/pages.ts"));
const { buildPages, findNewerThanPages }: typeof import("./pages.ts") = await import(
  pathToFileURL(join(root, "scripts/pages.ts")).href
);

describe("buildPages", () => {
  let said: string[];
  beforeEach(() => {
    said = [];
    mock.method(console, "error", (line: string) => said.push(line));
  });
  after(() => mock.restoreAll());

  test("buildPages does nothing if the sources are missing", () => {
    buildPages();
    assert.deepEqual(said, []);
  });

  test("buildPages prints a note if the build tools are missing", () => {
    write("web/index.html", "");
    buildPages();
    write("web/dist/index.html", "");
    utimesSync(join(root, "web/dist/index.html"), 1, 1);
    buildPages();
    rmSync(join(root, "web/dist"), { recursive: true });
    const cure = "To build them, run: npm ci && npm run build -w web";
    assert.deepEqual(said, [
      `The pages are not built: only the API is served. ${cure}`,
      `The pages may be out of date. ${cure}`,
    ]);
  });

  test("buildPages throws if the build fails", () => {
    write("node_modules/vite/package.json", "{}");
    write("web/build.ts", "process.exit(1);");
    assert.throws(buildPages, { message: "building the pages failed; see vite's output above" });
  });

  test("buildPages builds the pages only once", () => {
    const build = `import { mkdirSync, writeFileSync } from "node:fs";
      mkdirSync("${join(root, "web/dist")}");
      writeFileSync("${join(root, "web/dist/index.html")}", "");`;
    write("web/build.ts", build);
    assert.ok(findNewerThanPages().includes(join(root, "web/build.ts")));
    buildPages();
    assert.deepEqual(findNewerThanPages(), []);
    buildPages();
    assert.deepEqual(said, ["Building the pages ..."]);
  });
});
