// Tests the whole program in a separate process: failed starts, responses, and exits.

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { deriveAddress, encodeNewIntent, factoryAddress, type Hex } from "executable-address";
import { freePort } from "executable-address-contracts/anvil";
import { untilPrinted } from "../scripts/child-process.ts";
import { onlyLong } from "../scripts/long.ts";
import { openStore } from "./roles/open-store.ts";
import { OtherFactoryError, requireOwnRecords } from "./store/record.ts";
import { newIntent, token } from "./testing/app.ts";

const directory = mkdtempSync(join(tmpdir(), "main-"));
after(() => rmSync(directory, { recursive: true }));
const chainsFile = join(directory, "chains.json");
const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
const chain = { chainId: 1, name: "Ethereum", rpcUrls: ["http://127.0.0.1:9"], tokens };
writeFileSync(chainsFile, JSON.stringify([chain]));

const programOf = (name: "main" | "admin") => new URL(`${name}.ts`, import.meta.url).pathname;
const environment = (more: NodeJS.ProcessEnv) => ({
  PATH: process.env.PATH,
  NODE_OPTIONS: process.env.NODE_OPTIONS,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  DATA_DIR: join(directory, "data"),
  CHAINS_FILE: chainsFile,
  PORT: "0",
  ...more,
});

type Ended = { code: number; stdout: string; stderr: string };
function run(name: "main" | "admin", args: string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: environment(more) };
    const child = execFile(
      process.execPath,
      [programOf(name), ...args],
      options,
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const admin = async (...args: string[]) => {
  const { code, stdout, stderr } = await run("admin", args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
};

type Running = { process: ChildProcess; base: string; port: number; lines: string[] };
async function start(more: NodeJS.ProcessEnv = {}): Promise<Running> {
  const child = spawn(process.execPath, [programOf("main")], {
    env: environment(more),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout! }).on("line", (line) => lines.push(line));
  await untilPrinted(child, '"msg":"listening"}\n');
  const listening = lines.find((line) => JSON.parse(line).msg === "listening");
  if (listening === undefined) throw new Error(`the program ended: ${lines.at(-1)}`);
  const { port } = JSON.parse(listening);
  return { process: child, port, base: `http://127.0.0.1:${port}`, lines };
}

describe("a failed start prints one sentence and exits with 1 for", () => {
  const refused: [string, NodeJS.ProcessEnv, RegExp][] = [
    ["an invalid port", { PORT: "http" }, /^PORT is "http"; expected a whole number from 0/],
    [
      "a database that does not answer",
      { DATABASE_URL: "postgres://u:secret@127.0.0.1:9/d" },
      /^DATABASE_URL: cannot connect to PostgreSQL: .*ECONNREFUSED/,
    ],
    [
      "a data directory that cannot be created",
      { DATA_DIR: "/dev/null/x" },
      /^DATA_DIR \/dev\/null\/x is not writable/,
    ],
    ["a missing chains file", { CHAINS_FILE: "/nowhere.json" }, /^CHAINS_FILE \/nowhere\.json/],
    ["a host of another machine", { HOST: "192.0.2.1" }, /^HOST 192\.0\.2\.1 is not an address of/],
  ];
  for (const [title, settings, sentence] of refused) {
    const isVariant = ["CHAINS_FILE", "HOST"].some((name) => name in settings);
    test(title, isVariant ? onlyLong : {}, async () => {
      const { code, stderr, stdout } = await run("main", [], settings);
      assert.equal(code, 1);
      assert.match(stderr, sentence);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
      assert.ok(!(stderr + stdout).includes("secret@"));
    });
  }

  test("a port that is already in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await run("main", [], { PORT: String(port) });
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^PORT ${port} is already in use`));
    server.close();
  });
});

describe("a database with records of another factory", () => {
  /** Creates a folder with a database that contains one record for each of the `factories`. */
  async function folderOf(name: string, factories: Hex[]): Promise<string> {
    const folder = join(directory, name);
    const store = await openStore({ dataDirectory: folder });
    for (const factory of factories) {
      const { terms } = encodeNewIntent(newIntent(), { factory });
      const address = deriveAddress(terms, { factory });
      await store.saveRecord({ address, terms, accountId: "acc_1", createdAtMs: 1 });
    }
    await store.close();
    return folder;
  }
  const other: Hex = `0x${"47".repeat(20)}`;

  test("is refused and not changed", async () => {
    const folder = await folderOf("other-factory", [other, other]);
    const { code, stderr } = await run("main", [], { DATA_DIR: folder });
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `DATA_DIR ${folder} contains addresses of a different factory; this version uses the ` +
        `factory ${factoryAddress}: use a different database, or run the version that created it\n`,
    );
  });

  test("is accepted if at least one record belongs to this factory", onlyLong, async () => {
    const store = await openStore({
      dataDirectory: await folderOf("one-corrupt", [other, factoryAddress]),
    });
    await requireOwnRecords(store);
    await store.db
      .updateTable("records")
      .set({ terms: Buffer.alloc(0) })
      .execute();
    await assert.rejects(requireOwnRecords(store), OtherFactoryError);
    await store.db.deleteFrom("records").execute();
    await requireOwnRecords(store);
    await store.close();
  });
});

test("`chains check`, `chain bring`, and `executor new-key` need no database", async () => {
  const nowhere = { DATA_DIR: "/dev/null/x" };
  const checked = await run("admin", ["chains", "check"], nowhere);
  assert.equal(checked.code, 1, "not every endpoint is right");
  assert.equal(JSON.parse(checked.stdout)[0].kind, "unknown");
  const brought = await run("admin", ["chain", "bring", "--rpc", "ftp://x"], nowhere);
  assert.equal(
    brought.stderr,
    "--rpc: expected an http or https URL, found other text (7 characters)\n",
  );
  const files = ["--keystore", join(directory, "key"), "--password-file", join(directory, "word")];
  const drawn = await run("admin", ["executor", "new-key", ...files], nowhere);
  assert.match(JSON.parse(drawn.stdout).address, /^0x[0-9a-fA-F]{40}$/);
});

describe("a second server on the same SQLite directory", () => {
  const DATA_DIR = join(directory, "shared");
  let first: Running;
  before(async () => {
    first = await start({ DATA_DIR });
  });
  after(() => first.process.kill("SIGKILL"));
  const refused = async () => {
    const { code, stderr } = await run("main", [], { DATA_DIR });
    assert.equal(code, 1);
    const remedy = "stop that process, or set DATABASE_URL to run several servers";
    assert.equal(stderr, `DATA_DIR ${DATA_DIR} is in use by another server: ${remedy}\n`);
  };

  test("does not start, but the operator's commands work", async () => {
    await refused();
    assert.equal((await fetch(`${first.base}/readyz`)).status, 200);
    const listed = await run("admin", ["account", "list"], { DATA_DIR });
    assert.equal(listed.code, 0, listed.stderr);
    await refused();
  });

  test("starts after the first server has exited, even if SIGKILL ended it", async () => {
    first.process.kill("SIGKILL");
    await once(first.process, "exit");
    const second = await start({ DATA_DIR });
    await refused();
    second.process.kill("SIGTERM");
    assert.deepEqual(await once(second.process, "exit"), [0, null]);
    if (onlyLong.skip) return;
    const third = await start({ DATA_DIR });
    third.process.kill("SIGTERM");
    assert.deepEqual(await once(third.process, "exit"), [0, null]);
  });
});

describe("the commands of an operator", () => {
  test("print one sentence and exit with 1 if their arguments are invalid", async () => {
    const refused: [string[], RegExp][] = [
      [["account", "create"], /missing --email; usage: account create --email E/],
      [["account", "remove"], /unknown command: account remove\ncommands:/],
      [["key", "rotate", "--account", "acc_0", "--force"], /--force/],
      [["account", "create", "--email", "e@x.example", "more"], /more/],
      [[], /^commands:\n {2}account create --email E\n {6}Creates an account, /],
    ];
    for (const [args, message] of onlyLong.skip ? refused.slice(0, 3) : refused) {
      const { code, stdout, stderr } = await run("admin", args);
      assert.equal(code, 1);
      assert.equal(stdout, "");
      assert.match(stderr, message);
      assert.ok(!stderr.includes("    at "), stderr);
    }
  });

  test("are listed with their purpose by `--help`", async () => {
    const { code, stdout, stderr } = await run("admin", ["--help"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /\n {2}backup --to FILE\n {6}Copies the SQLite database to a file\.\n/);
  });

  test("do not create a missing database, except for `account create`", async () => {
    const DATA_DIR = join(directory, "elsewhere");
    for (const args of [["backup", "--to", join(directory, "b.db")], ["export"]]) {
      const { code, stdout, stderr } = await run("admin", args, { DATA_DIR });
      assert.deepEqual([code, stdout], [1, ""]);
      const cure = "set DATA_DIR or DATABASE_URL to the values that the server uses";
      assert.equal(stderr, `there is no database in ${DATA_DIR}: ${cure}\n`);
    }
    const create = ["account", "create", "--email", "e@x.example"];
    const { code, stderr } = await run("admin", create, { DATA_DIR });
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^there is no database in .*: creating one; if the server uses a different database/,
    );
  });

  test("create a key that a running server accepts immediately", async () => {
    const server = await start();
    const made = await admin("account", "create", "--email", "Ops@Example.com");
    assert.deepEqual(Object.keys(made), ["accountId", "apiKey", "clientId"]);
    assert.match(made.apiKey, /^svc_sk_[0-9a-f]{64}$/);
    assert.match(made.clientId, /^svc_client_[0-9a-f]{32}$/);
    const create = (apiKey: string) =>
      fetch(`${server.base}/v1/address/create`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify(newIntent()),
      });
    assert.equal((await create(made.apiKey)).status, 200);
    const { apiKey } = await admin("key", "rotate", "--account", made.accountId);
    assert.equal((await create(made.apiKey)).status, 401);
    assert.equal((await create(apiKey)).status, 200);
    const listed = await admin("account", "list");
    assert.ok(JSON.stringify(listed).includes(made.accountId));
    assert.ok(!JSON.stringify(listed).includes("svc_sk_"));
    server.process.kill("SIGTERM");
    assert.deepEqual(await once(server.process, "exit"), [0, null]);
    assert.ok(!server.lines.join().includes(made.apiKey.slice(0, 20)));
  });
});

describe("a server after SIGTERM", () => {
  const body = JSON.stringify(newIntent());
  let apiKey: string;
  before(async () => {
    ({ apiKey } = await admin("account", "create", "--email", "drain@example.com"));
  });

  /**
   * Sends the headers of a create request, and the first 50 bytes of its body. Returns the
   * connection.
   */
  async function begin({ port }: Running) {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    socket.on("error", () => {});
    const head = `Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
    socket.write(`POST /v1/address/create HTTP/1.1\r\nHost: x\r\n${head}`);
    socket.write(`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    assert.match(String(await once(socket, "data")), /^HTTP\/1\.1 100 /);
    socket.write(body.slice(0, 50));
    return socket;
  }

  const takesRequests = ({ base }: Running) =>
    fetch(`${base}/v1/chains`).then(
      () => true,
      () => false,
    );

  test("completes requests in progress, refuses new ones, and exits with 0", async () => {
    const server = await start();
    const unused = connect(server.port, "127.0.0.1");
    const socket = await begin(server);
    const ended = once(server.process, "exit");
    server.process.kill("SIGTERM");
    while (await takesRequests(server));
    socket.write(body.slice(50));
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /connection: close/i);
    assert.deepEqual(await ended, [0, null]);
    unused.destroy();
  });

  test("cancels requests that are not complete after DRAIN_SECONDS", async () => {
    const server = await start({ DRAIN_SECONDS: "1" });
    await begin(server);
    const ended = once(server.process, "close");
    server.process.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
    const last = server.lines.map((line) => JSON.parse(line)).slice(-3);
    const cutOff = "requests that were still in progress after the drain period were canceled";
    assert.deepEqual([last[0].msg, last[1].msg, last[2].msg], ["draining", cutOff, "stopped"]);
    assert.equal(last[1].seconds, 1);
  });

  test("ignores the duplicate signal that npm sends within a second", onlyLong, async () => {
    const server = await start({ ROLE: "all", EXECUTOR_KEY: `0x${"1".repeat(64)}` });
    const ended = once(server.process, "close");
    server.process.kill("SIGINT");
    server.process.kill("SIGINT");
    assert.deepEqual(await ended, [0, null]);
    assert.match(server.lines.at(-1)!, /"msg":"stopped"/);
  });

  test("exits immediately if the signal is repeated after a second", onlyLong, async () => {
    const server = await start();
    await begin(server);
    const ended = once(server.process, "exit");
    server.process.kill("SIGINT");
    while (await takesRequests(server));
    const again = setInterval(() => server.process.kill("SIGINT"), 200);
    assert.deepEqual(await ended, [1, null]);
    clearInterval(again);
  });
});

test("metrics are served only on METRICS_PORT, in the Prometheus format", async () => {
  const port = await freePort();
  const server = await start({ METRICS_PORT: String(port) });
  await fetch(`${server.base}/v1/chains`);
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(text, /http_responses_total\{route="\/v1\/chains",status="200"\} 1/);
  assert.match(text, /process_cpu_seconds_total/);
  assert.equal(
    (await fetch(`${server.base}/metrics`)).headers.get("content-type")?.includes("plain"),
    false,
  );
  server.process.kill("SIGTERM");
  await once(server.process, "exit");
});
