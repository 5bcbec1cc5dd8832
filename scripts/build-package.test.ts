// Tests the packages as users get them, packed and unpacked into an empty project. Plain Node runs
// them, and a page loads them as a bundle. If a bundle size changes, change the expected size in
// this file.

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
import { makeRecord } from "executable-address";
import { publint } from "publint";
import { rolldown } from "rolldown";
import { build as buildWithVite } from "vite";
import { sample } from "../address/test/samples.ts";
import { onlyLong } from "./long.ts";

const root = dirname(import.meta.dirname);
const record = makeRecord(sample);
let project: string;

/** The published packages, each with its expected dependencies. */
const packages = [
  { room: "address", name: "executable-address", dependencies: ["@noble/hashes"] },
  {
    room: "element",
    name: "executable-address-element",
    dependencies: ["executable-address", "uqr"],
  },
  { room: "shop", name: "executable-address-shop", dependencies: ["executable-address"] },
] as const;
const tarballs = new Map<string, string>();
const unpackedAt = (name: string) => join(project, "node_modules", name);

before(() => {
  project = mkdtempSync(join(tmpdir(), "executable-address-"));
  for (const { room, name } of packages) {
    const tarball = pack(room, project);
    tarballs.set(name, tarball);
    mkdirSync(unpackedAt(name), { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "-C", unpackedAt(name), "--strip=1"]);
  }
  const { resolve } = createRequire(import.meta.url);
  cpSync(dirname(resolve("@noble/hashes/sha3.js")), unpackedAt("@noble/hashes"), {
    recursive: true,
  });
  cpSync(dirname(dirname(resolve("uqr"))), unpackedAt("uqr"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
});
after(() => rmSync(project, { recursive: true, force: true }));

/**
 * Builds and packs a package as for a release.
 * @returns the path of the tarball in `folder`
 */
function pack(room: string, folder: string): string {
  const dist = mkdtempSync(join(project, "dist-"));
  execFileSync(process.execPath, [join(root, "scripts/build-package.ts"), dist], {
    cwd: join(root, room),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const options = ["--silent", "--offline", "--pack-destination", folder];
  const name = execFileSync("npm", ["pack", ...options], { cwd: dist });
  return join(folder, name.toString().trim());
}

/**
 * Bundles and minifies `code` in the project. Returns the entry file and the files that it can load
 * on demand.
 */
async function bundleFiles(code: string) {
  const input = join(project, "entry.js");
  writeFileSync(input, code);
  const build = await rolldown({ input, cwd: project, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output.filter((file) => file.type === "chunk");
}

/** Bundles `code`, and returns the bundle's entry file. */
const bundle = async (code: string): Promise<string> => (await bundleFiles(code))[0]!.code;

/**
 * Returns the number of bytes that a page with `code` loads initially. Also returns the size of
 * each module that loads on demand.
 */
async function weigh(code: string) {
  const files = await bundleFiles(code);
  const first = new Set<string>();
  const load = (name: string): void => {
    if (first.has(name)) return;
    first.add(name);
    for (const each of files.find(({ fileName }) => fileName === name)!.imports) load(each);
  };
  load(files[0]!.fileName);
  const isFirst = ({ fileName }: { fileName: string }) => first.has(fileName);
  const bytesOf = (some: typeof files) => some.reduce((sum, { code }) => sum + gzipBytes(code), 0);
  const later = files.filter((file) => !isFirst(file));
  return {
    bytes: bytesOf(files.filter(isFirst)),
    modules: files.filter(isFirst).flatMap(({ moduleIds }) => moduleIds),
    later: Object.fromEntries(later.map((file) => [file.name, gzipBytes(file.code)])),
  };
}

const gzipBytes = (code: string): number => gzipSync(code, { level: 9 }).length;

for (const { room, name, dependencies } of packages)
  describe(`the packed ${name}`, () => {
    test("the package contains its code and types, but no tests", () => {
      const unpacked = unpackedAt(name);
      const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
      assert.deepEqual(Object.keys(manifest.dependencies), dependencies);
      assert.deepEqual([manifest.devDependencies, manifest.scripts], [undefined, undefined]);
      assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
      for (const each of dependencies.filter((other) => other.startsWith("executable-address")))
        assert.equal(manifest.dependencies[each], manifest.version, "exactly the same version");
      assert.equal(manifest.engines.node, ">=20.19.0", "the range of @noble/hashes");
      assert.equal(manifest.repository.directory, room);
      const named = Object.values(manifest.exports) as Record<string, string>[];
      for (const { types, default: code } of named)
        for (const file of [types, code]) assert.ok(readFileSync(join(unpacked, file!)).length > 0);
      for (const program of Object.values(manifest.bin ?? {}) as string[])
        assert.match(readFileSync(join(unpacked, program), "utf8"), /^#!/);
      const files = readdirSync(unpacked, { recursive: true, encoding: "utf8" });
      for (const file of ["README.md", "LICENSE"]) assert.ok(files.includes(file), file);
      const sourceFiles = /\.test\.|bench|(?<!\.d)\.ts$/;
      assert.deepEqual(
        files.filter((file) => sourceFiles.test(file)),
        [],
      );
    });

    test("packing the same sources again gives the same bytes", onlyLong, () => {
      const again = pack(room, mkdtempSync(join(project, "pack-")));
      assert.ok(readFileSync(again).equals(readFileSync(tarballs.get(name)!)));
    });

    test("the workspaces import the package from its sources", () => {
      const manifest = JSON.parse(readFileSync(join(root, room, "package.json"), "utf8"));
      for (const path of Object.keys(manifest.exports)) {
        const found = import.meta.resolve(path.replace(".", name));
        assert.equal(found, pathToFileURL(join(root, room, manifest.exports[path])).href);
        assert.match(found, /\.ts$/);
      }
    });

    test("only the package's command-line programs import Node modules", () => {
      const files = readdirSync(unpackedAt(name), { recursive: true, encoding: "utf8" });
      for (const file of files.filter((each) => each.endsWith(".js"))) {
        if (room === "shop" && file.startsWith("try/")) continue;
        const code = readFileSync(join(unpackedAt(name), file), "utf8");
        assert.doesNotMatch(code, /["']node:|\brequire\(|\bBuffer\b/, file);
        if (file !== "cli/cli.js") assert.doesNotMatch(code, /\bprocess\b[.[]/, file);
      }
    });

    test("Node and bundlers find the package's types", async () => {
      const data = new Uint8Array(readFileSync(tarballs.get(name)!));
      const analysis = await checkPackage(createPackageFromTarballData(data));
      assert.ok(analysis.types);
      // Ignores problems of CommonJS and of Node 10's module resolution, which the package does not
      // support.
      const problems = analysis.problems.filter(
        (problem) =>
          !("resolutionKind" in problem) ||
          !["node10", "node16-cjs"].includes(problem.resolutionKind),
      );
      assert.deepEqual(problems, []);
    });

    test("publint finds no problem", async () => {
      const { messages } = await publint({ pkgDir: unpackedAt(name), strict: true, pack: false });
      assert.deepEqual(messages, []);
    });
  });

describe("the packed packages", () => {
  test("the packages run on Node without a build", () => {
    const code = `
      import { makeRecord, verifyRecord, factoryAddress } from "executable-address";
      import { createClient } from "executable-address/client";
      import { openShop } from "executable-address-shop";
      import { ExecutableAddressElement } from "executable-address-element";
      createClient({ baseUrl: "http://127.0.0.1/v1" });
      if (!openShop || !ExecutableAddressElement) throw new Error("expected shop and element");
      const record = makeRecord(${JSON.stringify(sample)});
      console.log(verifyRecord(record, { factory: factoryAddress }).address);`;
    const run = ["--input-type=module", "--eval", code];
    const out = execFileSync(process.execPath, run, { cwd: project, encoding: "utf8" });
    assert.equal(out.trim(), record.address);
    const cli = [join(unpackedAt("executable-address"), "cli/cli.js"), "decode", record.terms];
    const decoded = execFileSync(process.execPath, cli, { encoding: "utf8" });
    assert.deepEqual(JSON.parse(decoded), sample);
    const program = join(unpackedAt("executable-address-shop"), "try/cli.js");
    const usage = execFileSync(process.execPath, [program, "--help"], { encoding: "utf8" });
    assert.match(usage, /^usage: executable-address-shop try-receiver URL/);
  });

  test("the packages declare the JSX tags and their properties", () => {
    const app = join(project, "jsx");
    mkdirSync(app);
    writeFileSync(
      join(app, "app.tsx"),
      `import { ExecutableAddress } from "executable-address-element/react";
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

  test("the types do not depend on DOM or Node types", () => {
    const app = join(project, "bare");
    mkdirSync(app);
    const exported = ["", "/client", "/status", "/proof", "/webhook", "/reference", "/payment"];
    writeFileSync(
      join(app, "app.ts"),
      exported
        .map((path, at) => `export * as part${at} from "executable-address${path}";`)
        .join("\n"),
    );
    const compilerOptions = {
      ...{ strict: true, noEmit: true, skipLibCheck: false, types: [], lib: ["es2024"] },
      ...{ target: "es2024", module: "nodenext" },
    };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    const { resolve } = createRequire(import.meta.url);
    const compiler = join(dirname(resolve("typescript/package.json")), "bin/tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", app], { encoding: "utf8" });
    assert.equal(stdout, "");
  });

  test("the packed library works in a rolldown bundle", async () => {
    const code = await bundle(`
      import { makeRecord } from "executable-address";
      globalThis.made = makeRecord(${JSON.stringify(sample)});`);
    await import(`data:text/javascript,${encodeURIComponent(code)}`);
    assert.deepEqual((globalThis as { made?: unknown }).made, record);
  });

  test("the packed library works in a Vite app", async () => {
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

  test("the bundles have the expected sizes and stay within their limits", async () => {
    const only = (names: string, path = "") =>
      bundle(`export { ${names} } from "executable-address${path}";`).then(gzipBytes);
    const client = await weigh('export { createClient } from "executable-address/client";');
    const found = {
      derive: await only("deriveAddress"),
      verify: await only("verifyRecord"),
      all: gzipBytes(await bundle('export * from "executable-address";')),
      client: client.bytes,
      ...client.later,
      proof: await only("proveOutcome, proveExecution, blockHashOf", "/proof"),
      element: gzipBytes(await bundle('import "executable-address-element";')),
    };
    assert.ok(found.client <= 20_000, `a client costs ${found.client} bytes, more than 20 kB`);
    assert.ok(found.verify <= 10_000, "verifying costs more than 10 kB");
    assert.ok(found.proof - found.verify <= 6_000, "proving costs more than 6 kB");
    assert.deepEqual(Object.keys(found).sort(), Object.keys(pinned).sort());
    for (const [name, bytes] of Object.entries(pinned))
      assert.ok(Math.abs(found[name as keyof typeof found] - bytes) <= 150, JSON.stringify(found));
    const loaded = client.modules.filter((id) =>
      /\/proof\/|\/(new-intent|well-known)\.js$/.test(id),
    );
    assert.deepEqual(loaded, [], "loaded by a page that neither proves nor creates");
  });
});

/**
 * The expected sizes of the bundles in bytes, minified and gzipped. A difference of 150 bytes is
 * allowed. The client loads `create` and `prove` on demand. It loads `gather` if the service
 * returns no valid proof. `lists` and `endpoints` are used only on servers.
 */
const pinned = {
  ...{ derive: 3427, verify: 9956, all: 18008, element: 29787, proof: 14886 },
  ...{ client: 19913, create: 4543, lists: 1167, endpoints: 935, prove: 6702, gather: 7216 },
};
