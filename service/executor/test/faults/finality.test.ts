// Tests that a job continues after `confirmations` blocks. The transaction's cost is charged when
// its block is finalized. In anvil, the finalized block is 64 blocks below the newest block.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type AddressRecord, type Hex, toHex } from "executable-address";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import {
  assertReportIsExact,
  isAtRest,
  prepare,
  startCore,
  sumOfReport,
} from "../../../testing/executor/executor.ts";
import { jobFinder } from "../../client.ts";

const confirmations = 2;
/**
 * The maximum number of blocks until a job's next transaction is mined. The executor may notice a
 * block late, so the limit exceeds the number of confirmations.
 */
const blocksMax = confirmations + 3;
const finalAfter = 64;

const { world, store } = await prepare();
const findJob = jobFinder(store.db);

function start(context: TestContext) {
  const settings = { confirmations, finality: "finalized" };
  // The test mines blocks without pauses, so the executor must resend lost transactions
  // immediately.
  const running = startCore(store, world.chains([world.rpcUrl], settings), (core) => ({
    ...core,
    tuning: { ...core.tuning, resendMs: 0 },
  }));
  context.after(running.stop);
  return running;
}
type Running = ReturnType<typeof start>;

/** Mines a block and waits until the executor has seen it. */
async function step({ events }: Running): Promise<void> {
  const passes = () => events.filter(({ kind }) => kind === "pass").length;
  const before = passes();
  await world.mine();
  await until("a pass has seen the block", async () => passes() > before);
}

/** Mines blocks until `isDone` returns true, and returns their number. */
async function blocksUntil(running: Running, isDone: () => Promise<boolean>): Promise<number> {
  for (let blocks = 0; blocks < finalAfter / 2; blocks++) {
    if (await isDone()) return blocks;
    await step(running);
  }
  return finalAfter;
}

async function pay(record: AddressRecord, amount: bigint): Promise<void> {
  await saveRecords(store, [record]);
  await world.pay([{ to: record.address, amount }]);
}

const fateOf = async (record: AddressRecord) => (await fatesOf(world, [record]))[0]!;
const reasonOf = async ({ address }: AddressRecord) =>
  (await findJob({ address, chainId: 31_337 }))?.progress?.reason;
const settle = async (running: Running) => {
  await world.mine(finalAfter + 1);
  await until("no transaction is pending", async () => {
    await step(running);
    return isAtRest(store);
  });
};

describe("the executor after an execution", () => {
  test("returns a surplus after the configured number of confirmations", async (context) => {
    const record = await world.newRecord({ amount: 100n });
    const running = start(context);
    await pay(record, 130n);
    const isExecuted = async () => (await fateOf(record)).executed === 1;
    assert.ok((await blocksUntil(running, isExecuted)) <= 4);
    // The reason is set only by a pass that begins after the execution was mined.
    const waits = async () => (await reasonOf(record)) === "awaiting_confirmations";
    await until("it waits for confirmations", waits, 30);
    const isReturned = async () => (await fateOf(record)).recovered === 30n;
    const blocks = await blocksUntil(running, isReturned);
    context.diagnostic(`returned ${blocks} blocks after the execution`);
    assert.ok(blocks <= blocksMax, `${blocks} blocks`);
    assert.equal(await sumOfReport(store, "gasWei"), 0n);
    assert.equal(await isAtRest(store), false);
    await settle(running);
    await assertReportIsExact(world, store);
  });

  test("returns a payment if its execution is mined after the expiration time", async (context) => {
    const record = await world.newRecord({ amount: 100n, secondsLeft: 600 });
    const running = start(context);
    await pay(record, 100n);
    const isSent = () => running.events.some(({ kind }) => kind === "sent");
    await blocksUntil(running, async () => isSent());
    assert.equal(await reasonOf(record), "awaiting_block");
    await world.client.increaseTime({ seconds: 1000 });
    const isReturned = async () => (await fateOf(record)).recovered === 100n;
    const blocks = await blocksUntil(running, isReturned);
    context.diagnostic(`returned ${blocks} blocks after it was sent`);
    assert.ok(blocks <= blocksMax + 1, `${blocks} blocks`);
    assert.equal((await fateOf(record)).executed, 0);
    await settle(running);
    await assertReportIsExact(world, store);
  });

  test("repeats an execution and a return that a reorganization removed", async (context) => {
    const record = await world.newRecord({ amount: 100n });
    const running = start(context);
    await step(running);
    await pay(record, 130n);
    const isReturned = async () => {
      const { executed, recovered } = await fateOf(record);
      return executed === 1 && recovered === 30n;
    };
    assert.ok((await blocksUntil(running, isReturned)) <= 4 + blocksMax);
    const executedAt = await blockOfExecution(record.address);
    const depth = Number((await world.client.getBlockNumber()) - executedAt) + 1;
    assert.ok(depth > confirmations);
    const [answer] = await world.ask([{ method: "anvil_rollback", params: [depth] }]);
    assert.equal(answer?.error, undefined);
    assert.equal((await fateOf(record)).executed, 0);
    const blocks = await blocksUntil(running, isReturned);
    assert.ok(blocks < finalAfter, `${blocks} blocks`);
    await settle(running);
    await assertReportIsExact(world, store);
    const jobs = await store.db.selectFrom("executor_jobs").selectAll().execute();
    const job = jobs.find((each) => toHex(each.address) === record.address.toLowerCase());
    assert.deepEqual([job?.state, job?.purpose_id], ["idle", null]);
  });
});

async function blockOfExecution(vault: Hex): Promise<bigint> {
  const topic = `0x${vault.slice(2).toLowerCase().padStart(64, "0")}`;
  const logs = await world.client.getLogs({ fromBlock: 0n });
  return logs.find((log) => log.topics[1] === topic && log.topics.length === 3)!.blockNumber;
}
