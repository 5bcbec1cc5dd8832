// Compares the packed library on Bun, Deno, and Cloudflare Workers with Node. The runtimes take
// about 350 MB, so only `npm run test:runtimes -w address` installs them. If they are not
// installed, the test is skipped.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { makeRecord } from "../../index.ts";
import { credentials, statusOf } from "../answers.ts";
import { sample } from "../samples.ts";
import { type Served, serve } from "../serve.ts";

const here = import.meta.dirname;
const require = createRequire(import.meta.url);
const run = promisify(execFile);
const skip = existsSync(join(here, "node_modules"))
  ? false
  : "npm run test:runtimes -w address installs the runtimes";

const record = makeRecord(sample);
const wanted = {
  address: record.address,
  decoded: sample,
  made: record,
  found: record,
  states: ["unfunded", "funded"],
  redirected: "redirected",
  late: "timeout",
};

let project: string;
let server: Served;

before(async () => {
  if (skip) return;
  project = mkdtempSync(join(tmpdir(), "executable-address-"));
  await run(process.execPath, [join(here, "../../../scripts/build-package.ts")], {
    cwd: join(here, "../.."),
  });
  cpSync(join(here, "../../dist"), join(project, "node_modules/executable-address"), {
    recursive: true,
  });
  const hashes = join(require.resolve("@noble/hashes/sha3.js"), "..");
  mkdirSync(join(project, "node_modules/@noble"), { recursive: true });
  cpSync(hashes, join(project, "node_modules/@noble/hashes"), { recursive: true });
  cpSync(join(here, "program.js"), join(project, "program.js"));
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  server = await serve((request, response) => {
    const { url = "" } = request;
    if (url.startsWith("/late")) return;
    if (url.startsWith("/elsewhere"))
      return void response.writeHead(307, { Location: "/v1" }).end();
    if (!url.endsWith("/events")) return void response.end(JSON.stringify(record));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const state of ["unfunded", "funded"] as const)
      response.write(`event: status\ndata: ${JSON.stringify(statusOf(record.address, state))}\n\n`);
  });
});
after(async () => {
  if (skip) return;
  await server.close();
  rmSync(project, { recursive: true, force: true });
});

const args = () => JSON.stringify([server.origin, sample, { apiKey: credentials.apiKey }]);

/** Returns the output of a file that uses the whole library. `command` is the runtime. */
async function printed(command: string, ...options: string[]): Promise<unknown> {
  const file = join(project, "main.js");
  const code = `import { tryAll } from "./program.js";
    console.log(JSON.stringify(await tryAll(...${args()})));`;
  writeFileSync(file, code);
  const { stdout } = await run(command, [...options, file], { cwd: project, timeout: 60_000 });
  return JSON.parse(stdout);
}

/** Returns the path of the package's executable for this machine. */
function programOf(scope: "@deno" | "@oven"): string {
  const platform = `${process.platform}-${process.arch}`;
  const inner = {
    "@deno": `${platform}${process.platform === "linux" ? "-glibc" : ""}/deno`,
    "@oven": `bun-${platform.replace("arm64", "aarch64")}/bin/bun`,
  };
  return join(here, "node_modules", scope, inner[scope]);
}

describe("the packed library returns the same results on every runtime", { skip }, () => {
  test("Node", async () => assert.deepEqual(await printed(process.execPath), wanted));

  test("Bun", async () => assert.deepEqual(await printed(programOf("@oven"), "run"), wanted));

  test("Deno", async () => {
    const options = ["run", "--quiet", "--allow-net=127.0.0.1", "--allow-read"];
    assert.deepEqual(await printed(programOf("@deno"), ...options, "--no-lock"), wanted);
  });

  test("Cloudflare Workers", async () => {
    const input = join(project, "worker.js");
    writeFileSync(
      input,
      `import { tryAll } from "./program.js";
      export default { fetch: async () => Response.json(await tryAll(...${args()})) };`,
    );
    const build = await rolldown({ input, cwd: project, platform: "browser", logLevel: "silent" });
    const { output } = await build.generate({ format: "esm" });
    await build.close();
    const { Miniflare } = require(join(here, "node_modules/miniflare"));
    const script = output[0].code;
    const worker = new Miniflare({ modules: true, script, compatibilityDate: "2026-01-01" });
    try {
      const response = await worker.dispatchFetch("http://worker.example");
      assert.deepEqual(await response.json(), wanted);
    } finally {
      await worker.dispose();
    }
  });
});
