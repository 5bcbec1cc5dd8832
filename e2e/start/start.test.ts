// Tests that the commands that `npm start` prints can be pasted into a shell.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createClient } from "executable-address/client";
import { startOtherChain } from "../../contracts/testing/other-chain.ts";
import { end } from "../../scripts/child-process.ts";
import { isLong } from "../../scripts/long.ts";
import { environment, executedAt, start } from "./npm-start.ts";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "executable-address-start-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Returns the printed commands, as a user would copy them. */
const commandsOf = (said: string) =>
  said
    .replaceAll("\\\n", "")
    .split("\n")
    .filter((line) => /^(EXPIRY=|DATA_DIR=|npm run|curl)/.test(line));

describe("npm start", () => {
  test("npm start exits with 1 if a port is in use", async () => {
    const env = await environment(join(folder, "taken"));
    const taken = createServer().listen(Number(env.PORT), "127.0.0.1");
    const { child, said } = await start(env);
    taken.close();
    assert.equal(child.exitCode, 1);
    assert.match(said, /^Port \d+ of 127\.0\.0\.1 is already in use: .* set PORT\.\n$/);
  });

  test("npm start exits with 1 if the folder is not writable", async () => {
    const { child, said } = await start(await environment("/dev/null/data"));
    assert.equal(child.exitCode, 1);
    assert.match(said, /is not writable \(ENOTDIR\): set DATA_DIR/);
  });
});

describe("npm start, repeated in one folder", () => {
  let env: Awaited<ReturnType<typeof environment>>;
  let running: Awaited<ReturnType<typeof start>>;
  const stop = () => end(running.child, "SIGINT");
  after(stop);
  const keyIn = (said: string) => /API key +(\S+)/.exec(said)?.[1] ?? said;
  let key: string;
  let address: string;
  const refused = async (...args: string[]) => {
    const { stderr } = await pay(env, ...args);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    return stderr;
  };

  test("npm start prints commands that work", async () => {
    env = await environment(join(folder, "data"));
    running = await start(env);
    key = keyIn(running.said);
    const pasted = commandsOf(running.said).join("\n");
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", pasted], { env, cwd: root });
    address = /^0x[0-9a-fA-F]{40}$/m.exec(stdout)![0];
    assert.match(stdout, new RegExp(`paid 25000000 to ${address}`));
    // The command prints two responses, one per line: the status and the record.
    assert.match(stdout, /^\{"address":.*"state":".*\}\n\{"address":.*"terms":"0x[0-9a-f]+"\}\n$/m);
    const events = `http://127.0.0.1:${env.PORT}/v1/address/${address}/events`;
    assert.equal(await executedAt(events), true);
    await stop();
    assert.equal(running.child.exitCode, 0);
  });

  test("the next npm start keeps the data", async () => {
    env = { ...env, ...(await environment(env.DATA_DIR)) };
    running = await start(env);
    const url = `http://127.0.0.1:${env.PORT}/v1/address/${address}`;
    assert.equal((await fetch(url)).status, 200);
    const status = (await (await fetch(`${url}/status`)).json()) as { state: string };
    assert.equal(status.state, "executed");
    assert.equal(keyIn(running.said), key);
    // The output and the file for `npm run pay` contain the ports of this start, not of an earlier
    // one.
    assert.ok(running.said.includes(`http://127.0.0.1:${env.CHAIN_PORT} (chain ID 31337`));
    assert.match((await pay(env, address, "1")).stdout, /^paid 1 to 0x/);

    const check = [join(root, "service/admin.ts"), "chains", "check"];
    const CHAINS_FILE = join(env.DATA_DIR, "chains.json");
    const checked = await run(process.execPath, check, { env: { ...env, CHAINS_FILE } });
    const [{ headBlock, finalizedBlock, answeredMs, ...found }, ...others] = JSON.parse(
      checked.stdout,
    );
    assert.deepEqual(others, []);
    assert.deepEqual(found, {
      chainId: 31_337,
      name: "Local",
      endpoint: `127.0.0.1:${env.CHAIN_PORT}`,
      kind: "right",
      lacks: [],
      differsOn: [],
      refuses: [],
      logBlocks: 2000,
      archiveBlocks: null,
      proves: true,
      overrides: true,
      callsPerSecond: null,
    });
    assert.ok(headBlock >= finalizedBlock && answeredMs >= 0);
  });

  test("npm start exits with 1 if another process uses the folder", async () => {
    const beside = await start({ ...env, ...(await environment(env.DATA_DIR)) });
    assert.equal(beside.child.exitCode, 1);
    assert.match(beside.said, /^\S+ is in use by another npm start or server: .* DATA_DIR\.\n$/);
    assert.match((await pay(env, address, "1")).stdout, /^paid 1 to 0x/);
  });

  test("`npm run pay` explains invalid input in one line", async () => {
    assert.match(await refused(address, "-5"), /^The amount is -5; expected a whole number/);
    assert.match(await refused("0x12"), /returned 400: /);
    assert.match(await refused("--advance"), /^The time is missing; expected whole seconds/);
    if (!isLong) return;
    assert.match(await refused(address, `${2n ** 256n}`), /^The amount is 1157.*below 2\^256/);
    assert.match(await refused(address, `${2n ** 256n - 1n}`), /reverted/);
    assert.match(await refused(`0x${"1".repeat(40)}`), /returned 404: /);
    assert.match(await refused("--advance", "0"), /^The time is 0; expected whole seconds/);
  });

  test("`npm run pay` can show an event and advance the clock", async (t) => {
    const { stdout } = await pay(env, "--event");
    assert.match(stdout, /^webhook-signature: v1,\S+ v1a,\S+$/m);
    const [, body = "", secret = ""] =
      /\n\n(\{[\s\S]*\n\})\n\nsigned by (whsec_\S+)\n$/.exec(stdout) ?? [];
    assert.match(secret, /^whsec_/, stdout);
    const { type, data } = JSON.parse(body);
    assert.equal(type, "address.executed");
    const { baseUrl, apiKey } = JSON.parse(await readFile(join(env.DATA_DIR, "demo.json"), "utf8"));
    const client = createClient({ baseUrl, apiKey });
    assert.deepEqual(await client.webhooks.list(), [], "the endpoint was for the while");

    const record = await client.lookup(data.address);
    const expirationTimestamp = Math.floor(Date.now() / 1000) + 1_800;
    const late = await client.create({ ...record!.intent, expirationTimestamp });
    const stateOf = async () => (await client.status(late.address))?.state;
    assert.equal(await stateOf(), "unfunded");
    assert.match((await pay(env, "--advance", "3600")).stdout, /clock is at 20/);
    while ((await stateOf()) === "unfunded") await sleep(50);
    assert.equal(await stateOf(), "expired");
    await stop();
    assert.match(
      await refused(address),
      /^No service responds at \S+\. Is npm start still running\?/,
    );

    const { methods, rpcUrl } = await startOtherChain(t);
    await writeFile(join(env.DATA_DIR, "demo.json"), JSON.stringify({ baseUrl, apiKey, rpcUrl }));
    const { stderr } = await pay(env, "--advance", "3600");
    assert.match(stderr, /is chain 1; this command advances only the local chain's clock/);
    assert.deepEqual(new Set(methods), new Set(["eth_chainId"]));
  });

  const other = "npm start creates another API key if the file with the first is missing";
  test(other, { skip: !isLong && "npm run test:long" }, async () => {
    await rm(join(env.DATA_DIR, "demo.json"));
    running = await start(env);
    const drawn = keyIn(running.said);
    assert.match(drawn, /^svc_sk_/);
    assert.notEqual(drawn, key);
    await stop();

    await rm(join(env.DATA_DIR, "service.db"));
    const { child, said } = await start(env);
    assert.equal(child.exitCode, 1);
    assert.match(said, /^The database in \S+ does not contain the API key in \S+: delete that/);
  });
});

/** Runs `npm run pay`. Never throws: if the command fails, `stderr` contains its error. */
const pay = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  run(process.execPath, [join(root, "scripts/pay.ts"), ...args], { env }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
