import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { parseEventLogs } from "viem";
import { onlyLong, rounds } from "../../../../scripts/long.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../../testing/executor/executor.ts";
import { median, quantile } from "../../../testing/median.ts";

const { world, store } = await prepare();

describe("the executor", () => {
  const count = rounds(100, 1000);
  test(`executes ${count} payments in at most a tenth as many transactions`, async (context) => {
    assert.ok((await executeAll(context, count)) <= count / 10);
    context.diagnostic(await figures());
  });

  test(
    "control: an executor without batches sends one transaction per payment",
    onlyLong,
    async (context) => {
      world.stopTicking();
      assert.equal(await executeAll(context, 20, 1), 20);
    },
  );

  /**
   * Pays `count` addresses and waits until all are executed.
   *
   * @returns the number of transactions
   */
  async function executeAll(context: TestContext, count: number, batchItemsMax = 50) {
    const records = await Promise.all(Array.from({ length: count }, () => world.newRecord()));
    await saveRecords(store, records);
    const running = startCore(store, world.chains(), (core) => ({
      ...core,
      tuning: { ...core.tuning, batchItemsMax },
    }));
    context.after(running.stop);
    // Executions in the newest block are not counted, because they can belong to the previous test.
    const fromBlock = (await world.client.getBlockNumber()) + 1n;
    for (let block = 0; block < 10; block++) {
      const some = records.slice((block * count) / 10, ((block + 1) * count) / 10);
      await world.pay(some.map((r) => ({ to: r.address, amount: r.intent.amount })));
      await world.mine();
    }
    world.startTicking(1000);
    const executions = async () =>
      parseEventLogs({
        abi: paymentFactoryAbi,
        eventName: "Executed",
        logs: await world.client.getLogs({ address: factoryAddress, fromBlock }),
      });
    await until("all are executed", async () => (await executions()).length >= count);
    await until("no transaction is pending", () => isAtRest(store));
    await running.stop();
    const fates = await fatesOf(world, records);
    assert.ok(fates.every((fate) => fate.executed === 1 && fate.held === 0n));
    assert.equal(running.events.filter((event) => event.kind === "executed").length, count);
    return new Set((await executions()).map(({ transactionHash }) => transactionHash)).size;
  }

  test("stores a reason for each payment that waits for its simulation", async (context) => {
    world.stopTicking();
    world.startTicking(100);
    const reasons: string[] = [];
    const running = startCore(store, world.chains(), (core) => ({
      ...core,
      ledger: {
        ...core.ledger,
        updateJobs(fence, updates) {
          reasons.push(...updates.flatMap(({ reason }) => reason ?? []));
          return core.ledger.updateJobs(fence, updates);
        },
      },
      tuning: { ...core.tuning, estimateMsMax: 0 },
    }));
    context.after(running.stop);
    const records = await Promise.all([1, 2, 3].map(() => world.newRecord()));
    await saveRecords(store, records);
    await world.pay(records.map((r) => ({ to: r.address, amount: r.intent.amount })));
    await until("all are executed", async () =>
      (await fatesOf(world, records)).every((fate) => fate.executed === 1),
    );
    assert.deepEqual(reasons, ["not_simulated_yet", "not_simulated_yet"]);
  });

  async function figures(): Promise<string> {
    const range = { fromBlock: 0n, toBlock: "latest" } as const;
    const transfers = await world.client.getLogs({ address: world.token, ...range });
    const events = parseEventLogs({
      abi: paymentFactoryAbi,
      eventName: "Executed",
      logs: await world.client.getLogs({ address: factoryAddress, ...range }),
    });
    const paidIn = new Map<string, bigint>();
    for (const log of transfers) {
      const to = `0x${log.topics[2]?.slice(26)}`;
      if (!paidIn.has(to)) paidIn.set(to, log.blockNumber);
    }
    const waits = events.map((e) =>
      Number(e.blockNumber - paidIn.get(e.args.vault.toLowerCase())!),
    );
    const hashes = [...new Set(events.map((event) => event.transactionHash))];
    const receipts = await Promise.all(
      hashes.map((hash) => world.client.getTransactionReceipt({ hash })),
    );
    const gas = receipts.reduce((sum, receipt) => sum + receipt.gasUsed, 0n);
    return (
      `${gas / BigInt(events.length)} gas per address in ${hashes.length} transactions; ` +
      `payment to execution p50 ${median(waits)}, p99 ${quantile(waits, 0.99)} blocks`
    );
  }
});
