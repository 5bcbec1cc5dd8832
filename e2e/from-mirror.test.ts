// Tests an executor without the service. The executor reads records from four mirrors, and executes
// intents that pay a tip. One mirror is honest, and one returns wrong records. One never responds,
// and one has no list of records.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, fromHex, type Hex, makeRecord, toHex } from "executable-address";
import { periphery } from "executable-address-contracts";
import { getAddress, keccak256, stringToHex } from "viem";
import { end } from "../scripts/child-process.ts";
import { demoTokens, executorKey, localChainId } from "../scripts/local-chain.ts";
import { writeMirror } from "../service/records/mirror.ts";
import { openStore } from "../service/roles/open-store.ts";
import {
  type AnvilWorld,
  fatesOf,
  saveRecords,
  shop,
  startWorld,
  until,
} from "../service/testing/executor/anvil-world.ts";

const program = new URL("../service/main.ts", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "from-mirror-"));
const [data, own, site] = ["service", "own", "site"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
const list = join(site, "v1/records.jsonl");
const { symbol, decimals } = demoTokens[0]!;
const tip = 10n ** BigInt(decimals);

const servers: Server[] = [];

/** @returns the base URL of a mirror */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/**
 * The byte offsets that the executor requested from the honest mirror. The mirror supports range
 * requests until a test disables them.
 */
const asked: string[] = [];
let knowsRanges = true;
const honest: RequestListener = ({ headers: { range }, url }, response) => {
  assert.equal(url, "/v1/records.jsonl");
  const file = readFileSync(list);
  const from = Number(/^bytes=([0-9]+)-$/.exec(range ?? "")?.[1]);
  asked.push(String(from));
  if (!knowsRanges) return void response.end(file);
  if (from >= file.length)
    return void response.writeHead(416, { "Content-Range": `bytes */${file.length}` }).end();
  const part = `bytes ${from}-${file.length - 1}/${file.length}`;
  response.writeHead(206, { "Content-Range": part }).end(file.subarray(from));
};

/** Returns a record that pays the shop. If `tipped` is true, the record also pays a tip. */
function recordOf(name: string, { tipped = true, secondsLeft = 86_400 } = {}): AddressRecord {
  const seed = keccak256(stringToHex(name));
  const token = getAddress(demoTokens[0]!.address);
  const call = (target: Hex, text: string, args: string[]) => ({ target, function: text, args });
  const { address: tips } = periphery.tip;
  const pays = [
    call(token, "approve(address spender, uint256 amount)", [tips, String(tip)]),
    call(tips, "tip(address token, uint256 amount)", [token, String(tip)]),
  ];
  return makeRecord({
    token,
    amount: String((tipped ? tip : 0n) + 1_000n),
    calls: [
      ...(tipped ? pays : []),
      call(token, "transfer(address to, uint256 amount)", [shop, "1000"]),
    ],
    expirationTimestamp: Math.floor(Date.now() / 1000) + secondsLeft,
    recovery: getAddress(`0x${seed.slice(-40)}`),
    salt: seed,
    chainId: localChainId,
  });
}

describe("the executor with --from-mirror", () => {
  let world: AnvilWorld;
  let mirrors: string[];
  let child: ChildProcess;
  let log = "";
  const early = recordOf("early");
  const plain = recordOf("plain", { tipped: false });
  const corrupt = recordOf("corrupt");
  const late = recordOf("late");
  const last = recordOf("last");
  const again = recordOf("again");
  const expired = recordOf("expired", { secondsLeft: -60 });

  /**
   * Stores the records and then writes them to the honest mirror, as the service does. Between the
   * two steps, the record `damage` gets the terms of another record.
   */
  async function addToMirror(records: AddressRecord[], damage?: AddressRecord) {
    const store = await openStore({ dataDirectory: data });
    await saveRecords(store, records);
    if (damage) {
      const terms = Buffer.from(fromHex(early.terms));
      const address = fromHex(damage.address);
      await store.db.updateTable("records").set({ terms }).where("address", "=", address).execute();
    }
    const written = await writeMirror(store, site, () => {});
    await store.close();
    return written;
  }
  const start = (urls: string[]) => {
    const chainsFile = join(folder, "chains.json");
    const tipPrices = { [symbol]: String(10n ** 15n) };
    writeFileSync(chainsFile, JSON.stringify(world.chains([world.rpcUrl], { tipPrices })));
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, DATA_DIR: own, CHAINS_FILE: chainsFile };
    const args = urls.flatMap((url) => ["--from-mirror", url]);
    const executor = { EXECUTOR_KEY: executorKey, EXECUTOR_POLL_MS: "100" };
    child = spawn(process.execPath, [program, ...args], { env: { ...env, ...executor } });
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk) => (log += chunk));
  };
  const pay = (records: AddressRecord[]) =>
    world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
  const isExecuted = async (record: AddressRecord) =>
    (await fatesOf(world, [record]))[0]!.executed === 1;
  const allExecuted = async (records: AddressRecord[]) =>
    (await Promise.all(records.map(isExecuted))).every((is) => is);

  before(async () => {
    world = await startWorld();
    world.startTicking(150);
    // The wrong mirror returns wrong terms, a wrong recovery address, and another record. It also
    // returns invalid JSON and an incomplete line. The third mirror never responds.
    const lies = [
      JSON.stringify({ ...early, terms: late.terms }),
      JSON.stringify({ ...early, intent: { ...early.intent, recovery: shop } }),
      JSON.stringify({ ...recordOf("lie"), address: early.address }),
      "<!doctype html>",
      "x".repeat(3_000_000),
    ].join("\n");
    mirrors = await Promise.all([
      serve(honest),
      serve((_, response) => void response.writeHead(200).end(lies)),
      serve(() => {}),
      serve((_, response) => void response.writeHead(404).end()),
    ]);
  });
  after(async () => {
    await end(child, "SIGKILL");
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await world.stop();
    rmSync(folder, { recursive: true });
  });

  test("the executor rejects an invalid URL and an unknown flag", async () => {
    for (const [args, sentence] of [
      [["--from-mirror", "ftp://a.example"], /^EXECUTOR_MIRRORS is .*; expected base URLs/],
      [["--from-mirrors", "https://a.example"], /^Unknown option '--from-mirrors'/],
    ] as const) {
      const refused = spawn(process.execPath, [program, ...args]);
      let said = "";
      refused.stderr.on("data", (chunk) => (said += chunk));
      assert.equal(await new Promise((done) => refused.once("close", done)), 1);
      assert.match(said, sentence);
    }
  });

  test("the executor executes an address with a tip even if 3 of 4 mirrors fail", async () => {
    const first = await addToMirror([early, plain, corrupt, expired], corrupt);
    assert.deepEqual(first, { written: 3, corrupt: 1 });
    start(mirrors);
    await pay([early, plain, corrupt]);
    await until("the first is executed", () => isExecuted(early), 60);
    // The log must not contain the paths of URLs.
    const [, liar, , bare] = mirrors.map((url) => new URL(url).origin);
    const isLogged = (mirror: string, fault: string) => async () =>
      log.includes(`"mirror":"${mirror}","fault":"${fault}`);
    await until("the lying mirror is logged", isLogged(liar!, "line 1: "), 60);
    const fault = `expected 200 or the requested range, found 404 from ${bare}"`;
    await until("the mirror without a list is logged", isLogged(bare!, fault), 60);
    assert.equal(await isExecuted(corrupt), false);
  });

  test("the executor executes records that a mirror adds or repairs later", async () => {
    await pay([late]);
    const store = await openStore({ dataDirectory: data });
    const [terms, address] = [Buffer.from(fromHex(corrupt.terms)), fromHex(corrupt.address)];
    await store.db.updateTable("records").set({ terms }).where("address", "=", address).execute();
    await store.close();
    assert.deepEqual(await addToMirror([late]), { written: 2, corrupt: 0 });
    await until("both are executed", () => allExecuted([late, corrupt]), 60);
  });

  test("the executor continues after a crash even if a mirror ignores range requests", async () => {
    await end(child, "SIGKILL");
    knowsRanges = false;
    asked.length = 0;
    await addToMirror([last]);
    start(mirrors.slice(0, 1));
    await pay([last]);
    await until("the last is executed", () => isExecuted(last), 60);
    assert.ok(Number(asked[0]) > 0, `the first request began at ${asked[0]}`);
    assert.ok(await allExecuted([early, late, corrupt]));
    assert.equal(await isExecuted(plain), false);
  });

  test("the executor reads a mirror's list from the start after the list is replaced", async () => {
    await pay([again]);
    writeFileSync(list, `${JSON.stringify(again)}\n`);
    await until("it is executed", () => isExecuted(again), 60);
  });

  test("the executor stores only records that pay a tip and have not expired", async () => {
    await end(child, "SIGTERM");
    assert.equal(child.exitCode, 0);
    const store = await openStore({ dataDirectory: own });
    const rows = await store.db.selectFrom("records").select("address").execute();
    await store.close();
    const wanted = [early, corrupt, late, last, again];
    assert.deepEqual(
      rows.map(({ address }) => toHex(address)).toSorted(),
      wanted.map(({ address }) => address.toLowerCase()).toSorted(),
    );
  });
});
