// The package as others get it: packed, unpacked into an empty project, run on plain Node and
// bundled for a page. Bundle sizes are pinned: whoever makes it larger says so here.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { makeRecord } from "../index.ts";
import { sample } from "./samples.ts";

const room = dirname(import.meta.dirname);
const record = makeRecord(sample);
let project: string;
let unpacked: string;

/** `npm` and the Node it runs on, without the options this test itself was started with. */
const plain = { ...process.env, NODE_OPTIONS: "", npm_config_node_options: "" };

before(() => {
  project = mkdtempSync(join(tmpdir(), "executable-address-"));
  unpacked = join(project, "node_modules/executable-address");
  const pack = ["pack", "--silent", "--offline", "--pack-destination", project];
  execFileSync("npm", pack, { cwd: room, env: plain, stdio: ["ignore", "pipe", "pipe"] });
  const [tarball] = readdirSync(project).filter((name) => name.endsWith(".tgz"));
  mkdirSync(unpacked, { recursive: true });
  execFileSync("tar", ["-xzf", tarball!, "-C", "node_modules/executable-address", "--strip=1"], {
    cwd: project,
  });
  const hashes = dirname(createRequire(import.meta.url).resolve("@noble/hashes/sha3.js"));
  cpSync(hashes, join(project, "node_modules/@noble/hashes"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
});
after(() => rmSync(project, { recursive: true, force: true }));

/** What a bundler makes of `code` in the project, minified. */
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
  test("has a program that is there to be linked before anything is built", () => {
    const { bin } = JSON.parse(readFileSync(join(room, "package.json"), "utf8"));
    for (const file of Object.values(bin) as string[]) {
      assert.doesNotMatch(file, /dist/);
      assert.equal(statSync(join(room, file)).mode & 0o111, 0o111, file);
    }
  });

  test("holds its code, its types and its README, and needs only hashes and QR codes", () => {
    const { dependencies, exports } = JSON.parse(
      readFileSync(join(unpacked, "package.json"), "utf8"),
    );
    assert.deepEqual(Object.keys(dependencies), ["@noble/hashes", "uqr"]);
    assert.deepEqual(readdirSync(unpacked).sort(), ["README.md", "bin.js", "dist", "package.json"]);
    for (const { types, default: code } of Object.values(exports) as Record<string, string>[])
      for (const file of [types, code]) assert.ok(readFileSync(join(unpacked, file!)).length > 0);
    const files = readdirSync(join(unpacked, "dist"), { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((name) => /test|bench/.test(name)),
      [],
    );
  });

  test("names nothing of Node, so that a page can have all of it", () => {
    const files = readdirSync(join(unpacked, "dist"), { recursive: true, encoding: "utf8" });
    for (const name of files.filter((name) => name.endsWith(".js"))) {
      const code = readFileSync(join(unpacked, "dist", name), "utf8");
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
    const out = execFileSync(process.execPath, run, { cwd: project, env: plain, encoding: "utf8" });
    assert.equal(out.trim(), record.address);
    const cli = [join(unpacked, "bin.js"), "decode", record.terms];
    const decoded = execFileSync(process.execPath, cli, { env: plain, encoding: "utf8" });
    assert.deepEqual(JSON.parse(decoded), sample);
  });

  test("bundles, and the bundle runs", async () => {
    const code = await bundle(`
      import { makeRecord } from "executable-address";
      globalThis.made = makeRecord(${JSON.stringify(sample)});`);
    await import(`data:text/javascript,${encodeURIComponent(code)}`);
    assert.deepEqual((globalThis as { made?: unknown }).made, record);
  });

  test("bundles of pinned sizes: deriving alone is under 12 kB gzip", async () => {
    const only = (names: string, path = "") =>
      bundle(`export { ${names} } from "executable-address${path}";`).then(gzipBytes);
    const found = {
      derive: await only("deriveAddress"),
      verify: await only("verifyRecord"),
      all: gzipBytes(await bundle('export * from "executable-address";')),
      client: await only("createClient", "/client"),
    };
    assert.ok(found.derive < 12_000);
    for (const [name, bytes] of Object.entries(pinned))
      assert.ok(Math.abs(found[name as keyof typeof found] - bytes) <= 150, JSON.stringify(found));
  });
});

/** Bytes, minified and gzipped, give or take 150. */
const pinned = { derive: 3204, verify: 9629, all: 15609, client: 17333 };
