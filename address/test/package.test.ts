// The package as others get it: packed, unpacked into an empty project, run on plain Node and
// bundled for a page. Bundle sizes are pinned: whoever makes it larger says so here.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { rolldown } from "rolldown";
import { build as buildWithVite } from "vite";
import { makeRecord } from "../index.ts";
import { sample } from "./samples.ts";

const room = dirname(import.meta.dirname);
const record = makeRecord(sample);
let project: string;
let tarball: string;
let unpacked: string;

before(() => {
  project = mkdtempSync(join(tmpdir(), "executable-address-"));
  unpacked = join(project, "node_modules/executable-address");
  tarball = pack(project);
  mkdirSync(unpacked, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", unpacked, "--strip=1"]);
  const hashes = dirname(createRequire(import.meta.url).resolve("@noble/hashes/sha3.js"));
  cpSync(hashes, join(project, "node_modules/@noble/hashes"), { recursive: true });
  const uqr = dirname(createRequire(import.meta.url).resolve("uqr"));
  cpSync(dirname(uqr), join(project, "node_modules/uqr"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
});
after(() => rmSync(project, { recursive: true, force: true }));

/** Builds and packs as a release does. @returns the tarball's path, in `folder` */
function pack(folder: string): string {
  execFileSync(process.execPath, [join(room, "build.ts")], { stdio: ["ignore", "pipe", "pipe"] });
  const options = ["--silent", "--offline", "--pack-destination", folder];
  const name = execFileSync("npm", ["pack", ...options], { cwd: join(room, "dist") });
  return join(folder, name.toString().trim());
}

/** Bundles `code` in the project, minified. */
async function bundle(code: string): Promise<string> {
  const input = join(project, "entry.js");
  writeFileSync(input, code);
  const build = await rolldown({ input, cwd: project, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output[0].code;
}

const gzipBytes = (code: string): number => gzipSync(code, { level: 9 }).length;

describe("the packed package", () => {
  test("holds its code, its types, its licence and its README, and nothing of tests", () => {
    const { bin, dependencies, devDependencies, engines, exports, repository, scripts, version } =
      JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(dependencies), ["@noble/hashes", "uqr"]);
    assert.deepEqual([devDependencies, scripts], [undefined, undefined]);
    assert.match(version, /^\d+\.\d+\.\d+$/);
    assert.equal(engines.node, ">=20.19.0", "as @noble/hashes wants it");
    assert.equal(repository.directory, "address");
    const named = Object.values(exports) as Record<string, string>[];
    for (const { types, default: code } of named)
      for (const file of [types, code]) assert.ok(readFileSync(join(unpacked, file!)).length > 0);
    assert.match(readFileSync(join(unpacked, Object.values(bin)[0] as string), "utf8"), /^#!/);
    const files = readdirSync(unpacked, { recursive: true, encoding: "utf8" });
    for (const file of ["README.md", "LICENSE"]) assert.ok(files.includes(file), file);
    const sourceFiles = /\.test\.|bench|(?<!\.d)\.ts$/;
    assert.deepEqual(
      files.filter((name) => sourceFiles.test(name)),
      [],
    );
  });

  test("packs to the same bytes each time", () => {
    const again = pack(mkdtempSync(join(project, "pack-")));
    assert.ok(readFileSync(again).equals(readFileSync(tarball)));
  });

  test("the workspaces import the sources, whatever starts them: no build can be stale", () => {
    const manifest = JSON.parse(readFileSync(join(room, "package.json"), "utf8"));
    for (const path of Object.keys(manifest.exports)) {
      const found = import.meta.resolve(path.replace(".", "executable-address"));
      assert.equal(found, pathToFileURL(join(room, manifest.exports[path])).href);
      assert.match(found, /\.ts$/);
    }
  });

  test("names nothing of Node, so that a page can have all of it", () => {
    const files = readdirSync(unpacked, { recursive: true, encoding: "utf8" });
    for (const name of files.filter((name) => name.endsWith(".js"))) {
      const code = readFileSync(join(unpacked, name), "utf8");
      assert.doesNotMatch(code, /["']node:|\brequire\(|\bBuffer\b/, name);
      if (name !== "cli/cli.js") assert.doesNotMatch(code, /\bprocess\b/, name);
    }
  });

  test("runs on plain Node", () => {
    const code = `
      import { makeRecord, verifyRecord, factoryAddress } from "executable-address";
      import { createClient } from "executable-address/client";
      createClient({ baseUrl: "http://127.0.0.1/v1" });
      const record = makeRecord(${JSON.stringify(sample)});
      console.log(verifyRecord(record, { factory: factoryAddress }).address);`;
    const run = ["--input-type=module", "--eval", code];
    const out = execFileSync(process.execPath, run, { cwd: project, encoding: "utf8" });
    assert.equal(out.trim(), record.address);
    const cli = [join(unpacked, "cli/cli.js"), "decode", record.terms];
    const decoded = execFileSync(process.execPath, cli, { encoding: "utf8" });
    assert.deepEqual(JSON.parse(decoded), sample);
  });

  test("has types that resolve for ES modules of Node and for bundlers", async () => {
    const data = new Uint8Array(readFileSync(tarball));
    const analysis = await checkPackage(createPackageFromTarballData(data));
    assert.ok(analysis.types);
    // Two kinds of resolution it does not serve: without `exports`, and of CommonJS.
    const problems = analysis.problems.filter(
      (problem) =>
        !("resolutionKind" in problem) ||
        !["node10", "node16-cjs"].includes(problem.resolutionKind),
    );
    assert.deepEqual(problems, []);
  });

  test("types its tags in JSX and the properties of the component, and refuses others", () => {
    const app = join(project, "jsx");
    mkdirSync(app);
    writeFileSync(
      join(app, "app.tsx"),
      `import { ExecutableAddress } from "executable-address/react";
      const base = "https://pay.example/v1";
      export const right = [
        <ExecutableAddress address="0x" baseUrl={base} mirrors={[base]} />,
        <executable-address address="0x" base-url={base} mirrors={base} className="wide" />,
        <executable-recovery for="refund" />,
      ];
      export const wrong = [
        // @ts-expect-error
        <ExecutableAddress address="0x" baseUrl={base} mirrors={base} />,
        // @ts-expect-error
        <executable-address address="0x" base-url={base} mirrors={[base]} />,
        // @ts-expect-error
        <executable-recovery />,
      ];`,
    );
    const { resolve } = createRequire(import.meta.url);
    const typesOf = (name: string) => [dirname(resolve(`@types/${name}/package.json`))];
    const compilerOptions = {
      ...{ strict: true, noEmit: true, jsx: "react-jsx", types: [], lib: ["es2024", "dom"] },
      ...{ module: "esnext", moduleResolution: "bundler" },
      paths: {
        react: typesOf("react"),
        "react/*": typesOf("react").map((folder) => `${folder}/*`),
        csstype: [dirname(resolve("csstype/package.json"))],
      },
    };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    const compiler = join(dirname(resolve("typescript/package.json")), "bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", app], { encoding: "utf8" });
    assert.equal(stdout, "");
  });

  test("is without fault by publint's rules", async () => {
    const { messages } = await publint({ pkgDir: unpacked, strict: true, pack: false });
    assert.deepEqual(messages, []);
  });

  test("bundles, and the bundle runs", async () => {
    const code = await bundle(`
      import { makeRecord } from "executable-address";
      globalThis.made = makeRecord(${JSON.stringify(sample)});`);
    await import(`data:text/javascript,${encodeURIComponent(code)}`);
    assert.deepEqual((globalThis as { made?: unknown }).made, record);
  });

  test("is part of a Vite app, and what Vite builds runs", async () => {
    const app = join(project, "app");
    mkdirSync(app);
    writeFileSync(join(app, "index.html"), '<script type="module" src="/main.js"></script>');
    writeFileSync(
      join(app, "main.js"),
      `import { makeRecord } from "executable-address";
      import { createClient } from "executable-address/client";
      const { chains } = createClient({ baseUrl: "http://127.0.0.1/v1" });
      globalThis.fromVite = [makeRecord(${JSON.stringify(sample)}), typeof chains];`,
    );
    await buildWithVite({
      root: app,
      configFile: false,
      logLevel: "silent",
      build: { modulePreload: false },
    });
    const [script] = readdirSync(join(app, "dist/assets")).filter((name) => /js$/.test(name));
    await import(pathToFileURL(join(app, "dist/assets", script!)).href);
    assert.deepEqual((globalThis as { fromVite?: unknown }).fromVite, [record, "function"]);
  });

  test("bundles of pinned sizes: deriving alone is under 12 kB gzip", async () => {
    const only = (names: string, path = "") =>
      bundle(`export { ${names} } from "executable-address${path}";`).then(gzipBytes);
    const found = {
      derive: await only("deriveAddress"),
      verify: await only("verifyRecord"),
      all: gzipBytes(await bundle('export * from "executable-address";')),
      client: await only("createClient", "/client"),
      proof: await only("proveOutcome, proveExecution, blockHashOf", "/proof"),
      element: gzipBytes(await bundle('import "executable-address/element";')),
    };
    assert.ok(found.derive < 12_000);
    assert.ok(found.proof - found.verify <= 6_000, "proving costs more than 6 kB");
    for (const [name, bytes] of Object.entries(pinned))
      assert.ok(Math.abs(found[name as keyof typeof found] - bytes) <= 150, JSON.stringify(found));
  });
});

/** Bytes, minified and gzipped, give or take 150. */
const pinned = {
  ...{ derive: 3339, verify: 9774, all: 17216 },
  ...{ client: 27434, element: 29984, proof: 14229 },
};
