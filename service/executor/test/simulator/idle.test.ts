// Counts what an idle chain costs: calls of the executor and the observer of one process, as a node
// sees them, over 20 minutes of simulated time with an address that nobody pays.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromHex, type Hex, keccak256, makeRecord } from "executable-address";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Call } from "../../../chain/rpc/json-rpc.ts";
import { observe } from "../../../events/observe.ts";
import { migrate } from "../../../store/migrate.ts";
import { createChainModel } from "./chain-model.ts";
import { keepRunning } from "./instance.ts";
import { answer } from "./node-model.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import {
  chainId,
  confirmations,
  factory,
  openMemory,
  sender,
  shop,
  startSeconds,
  tokens,
} from "./world.ts";

const safe = { crashRate: () => 0, freezeRate: () => 0 };
const warmUpSeconds = 600;
const spanSeconds = 1200;

async function callsOfDay(blockSeconds: number, endpoints: number): Promise<number> {
  const scheduler = createScheduler();
  const random = seededRandom(blockSeconds);
  const setting = { chainId, factory, sender, shop, startSeconds, confirmations };
  const chain = createChainModel(setting, new Map());
  const db = openMemory();
  await migrate(db, "sqlite");
  const record = makeRecord(
    {
      token: tokens[0]!,
      amount: "1",
      calls: [{ target: shop, function: "pay(uint256 amount)", args: ["1"] }],
      expirationTimestamp: startSeconds + 86_400,
      recovery: shop,
      salt: `0x${"11".repeat(32)}`,
      chainId,
    },
    { factory },
  );
  const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
  const { token, amount, expirationTimestamp: expires_at } = record.intent;
  const columns = { token: fromHex(token), amount, expires_at, chain_id: chainId };
  const created = { account_id: "acc", created_at: startSeconds * 1000 };
  await db
    .insertInto("records")
    .values({ address, terms, ...columns, ...created })
    .execute();
  const mine = () => {
    chain.mine(startSeconds + Math.floor(scheduler.now() / 1000), 10n);
    scheduler.at(scheduler.now() + blockSeconds * 1000, mine);
  };
  scheduler.at(1000, mine);
  let count = 0;
  const ask = (calls: readonly Call[]) => {
    count += calls.length;
    return calls.map((call) => answer(chain, 0, call, sender));
  };
  const rpcs = Array.from(
    { length: endpoints },
    (_, index): Endpoint => ({
      name: `rpc${index}`,
      async ask(calls) {
        await scheduler.sleep(20 + random() * 60);
        return ask(calls);
      },
    }),
  );
  const world = { db, chain, vaults: [], close: () => db.destroy() };
  const tuning = { pollMs: 1000, leaseMs: 15_000, looksPerPass: 450 };
  keepRunning("a", world, rpcs, scheduler, random, safe, () => {}, tuning);
  const blockAt = async (number: number | "latest") => {
    const params = [number === "latest" ? number : `0x${number.toString(16)}`, false];
    const [told] = ask([{ method: "eth_getBlockByNumber", params }]);
    const { hash } = (told as { result: { hash: Hex } }).result;
    return { number: Number(number), hash, timestamp: 0 };
  };
  const observed = {
    chainId,
    head: () => blockAt("latest"),
    blockAt,
    read: async () => [],
  };
  const parts = {
    store: { db },
    factory,
    keccak: keccak256,
    publicUrl: "",
    now: () => startSeconds * 1000 + scheduler.now(),
    onEvents: async () => {},
    onFault: () => {},
  };
  const watch = async () => {
    await observe(parts, observed);
    scheduler.at(scheduler.now() + 1000, watch);
  };
  scheduler.at(30_000, watch);
  await scheduler.run(warmUpSeconds * 1000);
  const before = count;
  await scheduler.run((warmUpSeconds + spanSeconds) * 1000);
  await world.close();
  return ((count - before) * 86_400) / spanSeconds;
}

describe("calls of an idle day, executor and observer together", () => {
  for (const [blockSeconds, callsMax] of [
    [12, 30_000],
    [1, 200_000],
  ] as const) {
    test(`at blocks of ${blockSeconds} s: one endpoint, and 1.6 times that with two`, async (t) => {
      const one = await callsOfDay(blockSeconds, 1);
      const two = await callsOfDay(blockSeconds, 2);
      t.diagnostic(`${one} with one endpoint, ${two} with two`);
      assert.ok(one <= callsMax, `${one} with one endpoint`);
      assert.ok(two <= 1.6 * callsMax, `${two} with two endpoints`);
    });
  }
});
