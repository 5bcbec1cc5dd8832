import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressRecord } from "executable-address";
import { rounds } from "../../../../scripts/long.ts";
import {
  fatesOf,
  saveRecords,
  tipPrices,
  tipper,
  unit,
  until,
} from "../../../testing/executor/anvil-world.ts";
import {
  assertBooksAreExact,
  isAtRest,
  prepare,
  startCore,
} from "../../../testing/executor/executor.ts";

const confirmations = 4;

const { world, store } = await prepare();

describe("an executor after a reorganization", () => {
  const start = () =>
    startCore(store, world.chains([world.rpcUrl], { confirmations, tipPrices }), (core) => ({
      ...core,
      tuning: { ...core.tuning, resendMs: 300 },
    }));
  const mineSlowly = async (blocks: number) => {
    for (let block = 0; block < blocks; block++) {
      await world.mine();
      await sleep(150);
    }
  };
  const rollBack = async (depth: number) => {
    const [answer] = await world.ask([{ method: "anvil_rollback", params: [depth] }]);
    assert.equal(answer?.error, undefined);
  };
  const settled = async () => {
    world.startTicking(150);
    await until("no transaction is pending", () => isAtRest(store));
    world.stopTicking();
  };

  /** Creates and pays two addresses. The second has a tip and belongs to another account. */
  const paid = async () => {
    const plain = await world.newRecord({ secondsLeft: 10 * 86_400 });
    const tipped = await world.newRecord({ secondsLeft: 10 * 86_400, tip: unit });
    await saveRecords(store, [plain]);
    await saveRecords(store, [tipped], tipper);
    const records = [plain, tipped];
    await world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
    return records;
  };
  const areExecuted = async (records: readonly AddressRecord[]) =>
    (await fatesOf(world, records)).every(({ executed }) => executed === 1);

  for (let round = 0; round < rounds(1, 10); round++) {
    test(`repeats a removed execution (run ${round})`, async (context) => {
      const record = await world.newRecord();
      await saveRecords(store, [record]);
      const running = start();
      context.after(running.stop);
      await world.pay([{ to: record.address, amount: record.intent.amount }]);
      await until("it is executed", async () => {
        await mineSlowly(1);
        return (await fatesOf(world, [record]))[0]?.executed === 1;
      });
      await rollBack(1);
      assert.equal((await fatesOf(world, [record]))[0]?.executed, 0);
      await settled();
      assert.equal((await fatesOf(world, [record]))[0]?.executed, 1);
      await running.stop();
    });

    test(`charges once for a removed and repeated execution (run ${round})`, async (context) => {
      const records = await paid();
      const running = start();
      context.after(running.stop);
      const isExecuted = () => areExecuted(records);
      await until("it is executed", async () => {
        await mineSlowly(1);
        return isExecuted();
      });
      const executedAt = await world.client.getBlockNumber();
      await until("it is settled", async () => {
        await mineSlowly(1);
        return isAtRest(store);
      });
      const depth = Number((await world.client.getBlockNumber()) - executedAt) + 1;
      assert.ok(depth > confirmations);
      await assertBooksAreExact(world, store);
      await rollBack(depth);
      assert.equal(await isExecuted(), false);
      world.startTicking(150);
      await until("it is executed again", isExecuted);
      world.stopTicking();
      await settled();
      await running.stop();
      await assertBooksAreExact(world, store);
    });

    test(`charges an execution to the day of its new block (run ${round})`, async (context) => {
      const records = await paid();
      const running = start();
      context.after(running.stop);
      await until("it is executed", async () => {
        await mineSlowly(1);
        return areExecuted(records);
      });
      assert.equal(await isAtRest(store), false);
      await world.client.increaseTime({ seconds: 86_400 });
      await settled();
      await running.stop();
      await assertBooksAreExact(world, store);
    });

    test(`does not record the execution of a removed payment (run ${round})`, async (context) => {
      const record = await world.newRecord();
      await saveRecords(store, [record]);
      const running = start();
      context.after(running.stop);
      await mineSlowly(2);
      await world.pay([{ to: record.address, amount: record.intent.amount }]);
      await until("it is executed", async () => {
        await mineSlowly(1);
        return (await fatesOf(world, [record]))[0]?.executed === 1;
      });
      const paidAt = await blockOfPayment(record.address);
      await rollBack(Number((await world.client.getBlockNumber()) - paidAt) + 1);
      const [lost] = await fatesOf(world, [record]);
      assert.deepEqual([lost?.executed, lost?.held], [0, 0n]);
      await settled();
      const outcomes = await store.db
        .selectFrom("executor_outcomes")
        .selectAll()
        .where("address", "=", Buffer.from(record.address.slice(2), "hex"))
        .where("kind", "=", "executed")
        .execute();
      const [after] = await fatesOf(world, [record]);
      assert.equal(outcomes.length, after?.executed);
      if (after?.executed === 0) {
        await world.pay([{ to: record.address, amount: record.intent.amount }]);
        world.startTicking(150);
        await until(
          "the second payment is executed",
          async () => (await fatesOf(world, [record]))[0]?.executed === 1,
        );
        world.stopTicking();
      }
      await running.stop();
    });
  }

  async function blockOfPayment(to: `0x${string}`): Promise<bigint> {
    const logs = await world.client.getLogs({ address: world.token, fromBlock: 0n });
    const topic = `0x${to.slice(2).toLowerCase().padStart(64, "0")}`;
    return logs.find((log) => log.topics[2] === topic)!.blockNumber;
  }
});
