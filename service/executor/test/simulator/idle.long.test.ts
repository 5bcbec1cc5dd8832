// Counts the RPC calls that the executor and the observer make for an idle chain. The chain has one
// unpaid address. In simulated time, the address is open for 20 minutes, and then closed for an
// hour. With `npm run test:long`, it is closed for six hours.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromHex, type Hex, keccak256, makeRecord } from "executable-address";
import { isLong } from "../../../../scripts/long.ts";
import type { Call } from "../../../chain/rpc/json-rpc.ts";
import { observe } from "../../../events/observe.ts";
import { rooms } from "../../../roles/open-store.ts";
import { migrate } from "../../../store/migrate.ts";
import type { ExecutorEvent } from "../../events/event.ts";
import { hintJobs } from "../../ledger/jobs.ts";
import { createChainModel } from "./chain-model.ts";
import { itemGas } from "./factory-model.ts";
import { respond, simulatedEndpoint } from "./faulty-rpc.ts";
import { keepRunning } from "./instance.ts";
import { answer } from "./node-model.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import {
  chainId,
  confirmations,
  factory,
  openMemory,
  senders,
  shop,
  startSeconds,
  tokens,
} from "./world.ts";

const safe = { crashRate: () => 0, freezeRate: () => 0 };
const warmUpSeconds = 600;
const spanSeconds = 1200;
const sleepingSpanSeconds = isLong ? 21_600 : 3600;
/** The maximum number of blocks per log query. */
const rangeBlocksMax = 2000;

type Idle = {
  blockSeconds: number;
  endpoints: number;
  /** The block timestamp at which the address expires. */
  expiresAt?: number;
};

/** Starts an executor and an observer for one chain with one address. */
async function startIdle({ blockSeconds, endpoints, expiresAt = startSeconds + 86_400 }: Idle) {
  const scheduler = createScheduler();
  const random = seededRandom(blockSeconds);
  const setting = { chainId, factory, senders, shop, startSeconds, confirmations };
  const db = openMemory();
  await migrate(db, "sqlite", rooms);
  const record = makeRecord(
    {
      token: tokens[0]!,
      amount: "1",
      calls: [{ target: shop, function: "pay(uint256 amount)", args: ["1"] }],
      expirationTimestamp: expiresAt,
      recovery: shop,
      salt: `0x${"11".repeat(32)}`,
      chainId,
    },
    { factory },
  );
  const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
  const lower = record.address.toLowerCase() as Hex;
  const vault = {
    ...{ address: lower, terms: record.terms, token: tokens[0]!, amount: 1n, chainId },
    ...{ recovery: shop, behaviour: "runs" as const, mendsAtSeconds: 0, gas: itemGas },
    expirationSeconds: expiresAt,
  };
  const chain = createChainModel({ ...setting, rangeBlocksMax }, new Map([[lower, vault]]));
  const { token, amount } = record.intent;
  const columns = { token: fromHex(token), amount, chain_id: chainId };
  const create = (address: Uint8Array, expires_at: number) => {
    const created = { account_id: "acc", created_at: startSeconds * 1000 + scheduler.now() };
    return db
      .insertInto("records")
      .values({ address, terms, ...columns, expires_at, ...created })
      .execute();
  };
  await create(address, expiresAt);
  const mine = () => {
    chain.mine(startSeconds + Math.floor(scheduler.now() / 1000), 10n);
    scheduler.at(scheduler.now() + blockSeconds * 1000, mine);
  };
  scheduler.at(1000, mine);
  let count = 0;
  const ask = (calls: readonly Call[]) => {
    count += calls.length;
    return calls.map((call) => answer(chain, 0, call));
  };
  const rpcs = Array.from({ length: endpoints }, (_, index) =>
    simulatedEndpoint(`rpc${index}`, scheduler, async (calls) => {
      await scheduler.sleep(20 + random() * 60);
      return respond(ask(calls));
    }),
  );
  const world = {
    db,
    chain,
    vaults: [],
    knownAt: new Map<Hex, number>(),
    close: () => db.destroy(),
  };
  const tuning = { pollMs: 1000, leaseMs: 15_000, recordsPerPass: 450 };
  const detected: string[] = [];
  const report = (_: string, event: ExecutorEvent) => {
    if (event.kind === "detected") detected.push(event.address);
  };
  keepRunning("a", world, rpcs, scheduler, random, safe, report, tuning);
  const blockAt = async (number: number | "latest") => {
    const params = [number === "latest" ? number : `0x${number.toString(16)}`, false];
    const [answer] = ask([{ method: "eth_getBlockByNumber", params }]);
    const { hash } = (answer as { result: { hash: Hex } }).result;
    return { number: Number(number), hash, timestamp: 0 };
  };
  const observed = {
    chainId,
    head: () => blockAt("latest"),
    blockAt,
    readAt: () => Promise.reject(new Error("nothing is due")),
  };
  const parts = {
    store: { db },
    factory,
    keccak: keccak256,
    publicUrl: "",
    now: () => startSeconds * 1000 + scheduler.now(),
    findReturns: async () => [],
    onEvents: async () => {},
    onFault: () => {},
  };
  const watch = async () => {
    await observe(parts, observed);
    scheduler.at(scheduler.now() + 1000, watch);
  };
  scheduler.at(30_000, watch);
  return {
    ...{ db, chain, create, detected, address: lower },
    /** Does the work of the observer after the execution: saves that the address is executed. */
    settle: () =>
      db
        .insertInto("watches")
        .values({
          ...{ account_id: "acc", address, chain_id: chainId, token: fromHex(token) },
          ...{ created_at: startSeconds * 1000, marked_block: 1, readings: 0, version: 1 },
          ...{ sequence: 1, state: "executed", settled_at: startSeconds * 1000 },
        })
        .execute(),
    stop: () => world.close(),
    calls: () => count,
    runFor: (seconds: number) => scheduler.run(scheduler.now() + seconds * 1000),
  };
}

async function callsOfDay(idle: Idle, seconds = spanSeconds): Promise<number> {
  const world = await startIdle(idle);
  await world.runFor(warmUpSeconds);
  const before = world.calls();
  await world.runFor(seconds);
  await world.stop();
  return ((world.calls() - before) * 86_400) / seconds;
}

describe("the calls to endpoints on a day without payments", () => {
  for (const [blockSeconds, callsMax] of [
    [12, 30_000],
    [1, 200_000],
  ] as const) {
    test(`rise by at most 60 % with a second endpoint (${blockSeconds} s per block)`, async (t) => {
      const one = await callsOfDay({ blockSeconds, endpoints: 1 });
      const two = await callsOfDay({ blockSeconds, endpoints: 2 });
      t.diagnostic(`${one} with one endpoint, ${two} with two`);
      assert.ok(one <= callsMax, `${one} with one endpoint`);
      assert.ok(two <= 1.6 * one, `${two} with two endpoints`);
    });
  }
});

describe("a chain without open addresses", () => {
  const expiresAt = startSeconds - 86_400;
  for (const blockSeconds of [12, 1]) {
    test(`causes at most 1,600 calls a day with a block every ${blockSeconds} s`, async (t) => {
      for (const [endpoints, callsMax] of [[1, 1000] as const, [2, 1600] as const]) {
        const idle = { blockSeconds, endpoints, expiresAt };
        const calls = await callsOfDay(idle, sleepingSpanSeconds);
        t.diagnostic(`${calls} with ${endpoints}`);
        assert.ok(calls <= callsMax, `${calls} with ${endpoints}`);
      }
    });
  }

  for (const endpoints of [1, 2]) {
    test(`late payments are found within five minutes (endpoints: ${endpoints})`, async () => {
      for (const waitSeconds of [0, 145, 290, 1450]) {
        const world = await startIdle({ blockSeconds: 12, endpoints, expiresAt });
        await world.runFor(warmUpSeconds + waitSeconds);
        const to = world.address;
        world.chain.add({ kind: "pay", token: tokens[0]!, to, amount: 5n, onlyOnce: false });
        await world.runFor(12 + 300);
        assert.deepEqual(new Set(world.detected), new Set([to]), `after ${waitSeconds} s`);
        await world.stop();
      }
    });
  }

  test("once an address is created, is read immediately and at every poll", async () => {
    const world = await startIdle({ blockSeconds: 12, endpoints: 1, expiresAt });
    await world.runFor(warmUpSeconds);
    const before = world.calls();
    await world.create(Buffer.alloc(20, 9), startSeconds + 86_400);
    await world.runFor(3);
    assert.ok(world.calls() > before, "no call within 3 s");
    await world.runFor(600);
    assert.ok(world.calls() - before >= 100, `${world.calls() - before} calls`);
    await world.stop();
  });

  test("is read immediately if a status shows money", async () => {
    const world = await startIdle({ blockSeconds: 12, endpoints: 1, expiresAt });
    await world.runFor(warmUpSeconds);
    const before = world.calls();
    const block = { number: 1, timestamp: startSeconds };
    await hintJobs(world.db, chainId, [{ address: world.address, block, isEnough: true }]);
    await world.runFor(3);
    assert.ok(world.calls() > before, "no call within 3 s");
    await world.stop();
  });

  test("is read less often after its only open address is executed", async () => {
    const world = await startIdle({ blockSeconds: 12, endpoints: 1 });
    await world.runFor(warmUpSeconds);
    const before = world.calls();
    await world.runFor(600);
    assert.ok(
      world.calls() - before >= 100,
      `${world.calls() - before} calls while the address is open`,
    );
    await world.settle();
    await world.runFor(90);
    const settled = world.calls();
    await world.runFor(3600);
    assert.ok(
      world.calls() - settled <= 50,
      `${world.calls() - settled} calls after the address was executed`,
    );
    await world.stop();
  });
});
