// Tests how the executor replaces a transaction that no node accepts. The replacement has a higher
// fee if the daily budget and the key's balance allow it. Otherwise, the replacement is a
// zero-value transfer. The jobs do not count as failed.

import assert from "node:assert/strict";
import { after, describe, type TestContext, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import { parseTransaction, toHex } from "viem";
import { onlyLong } from "../../../../scripts/long.ts";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import {
  isAtRest,
  prepare,
  startCore,
  sumOfReport,
  twoKeys,
} from "../../../testing/executor/executor.ts";
import { startProxy } from "../../../testing/executor/rpc-proxy.ts";
import type { Parts } from "../../pass.ts";

const { world, store } = await prepare();
const silent = await startProxy(world.rpcUrl);
after(silent.stop);

/**
 * For each pending nonce, returns its transactions' highest possible costs, oldest transaction
 * first.
 */
async function costs(): Promise<bigint[][]> {
  const rows = await store.db
    .selectFrom("executor_transactions as sent")
    .innerJoin("executor_purposes as purpose", "purpose.id", "sent.purpose_id")
    .select(["sent.purpose_id", "sent.raw"])
    .where("purpose.state", "=", "pending")
    .orderBy("sent.signed_at")
    .execute();
  const byPurpose = new Map<string, bigint[]>();
  for (const { purpose_id, raw } of rows) {
    const { gas, maxFeePerGas } = parseTransaction(toHex(raw) as Hex);
    byPurpose.set(purpose_id, [...(byPurpose.get(purpose_id) ?? []), gas! * maxFeePerGas!]);
  }
  return [...byPurpose.values()];
}
const most = (each: readonly bigint[]) => each.reduce((max, cost) => (cost > max ? cost : max));
const sum = (each: readonly bigint[]) => each.reduce((all, cost) => all + cost, 0n);

for (const bound of ["perDayMax", "perAccountMax"] as const) {
  test(`simultaneous replacements together cost at most ${bound}`, async (context) => {
    await silent.behave("drops_broadcasts");
    const plenty = 10n ** 24n;
    const budgets = { perDayMax: plenty, perAccountMax: plenty, perClientMax: plenty };
    const running = startCore(store, world.chains([silent.url]), (core) => ({
      ...core,
      chain: { ...core.chain, budgets },
      tuning: { ...core.tuning, batchItemsMax: 1, stuckSeconds: 1 },
    }));
    context.after(running.stop);
    const records = await Promise.all([1, 2, 3].map(() => world.newRecord()));
    await saveRecords(store, records);
    await world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
    await world.mine();
    const count = (wanted: string) => running.events.filter(({ kind }) => kind === wanted).length;
    await until("all are sent", async () => count("sent") === 3);
    const sent = sum((await costs()).map(most));
    const raise = sent / 3n / 4n;
    const spent = await sumOfReport(store, "gasWei");
    budgets[bound] = spent + sent + raise;
    await world.client.increaseTime({ seconds: 60 });
    await world.mine();
    await until("each is replaced", async () => count("replaced") >= 3);
    const worst = sum((await costs()).map(most));
    assert.ok(worst > sent, "a replacement raised the cost");
    assert.ok(worst <= sent + raise, `${worst} of ${sent + raise} wei`);
    budgets[bound] = plenty;
    await silent.behave("none");
    world.startTicking(100);
    await world.client.increaseTime({ seconds: 60 });
    await until("no transaction is pending", () => isAtRest(store));
    world.stopTicking();
  });
}

test("a transaction is replaced only if the key's balance covers the cost", async (context) => {
  await silent.behave("drops_broadcasts");
  const running = startCore(store, world.chains([silent.url]), (core) => ({
    ...core,
    tuning: { ...core.tuning, resendMs: 300, stuckSeconds: 1000 },
  }));
  context.after(running.stop);
  const record = await world.newRecord();
  await saveRecords(store, [record]);
  await world.pay([{ to: record.address, amount: record.intent.amount }]);
  await world.mine();
  const hasEvent = (wanted: string) => running.events.some(({ kind }) => kind === wanted);
  await until("it is sent", async () => hasEvent("sent"));
  const signed = await costs();
  const { address } = twoKeys[0];
  await world.client.setBalance({ address, value: sum(signed.map(most)) });
  await world.client.increaseTime({ seconds: 2000 });
  await world.mine();
  await until("it is logged", async () => hasEvent("stopped_for_balance"));
  assert.deepEqual(await costs(), signed);
  await world.client.setBalance({ address, value: 10n ** 20n });
  await world.mine();
  await until("it is replaced", async () => hasEvent("replaced"));
  await silent.behave("none");
  world.startTicking(100);
  await until("it is executed", async () => (await fatesOf(world, [record]))[0]!.executed === 1);
  await until("no transaction is pending", () => isAtRest(store));
  world.stopTicking();
});

describe("a transaction that is replaced by a zero-value transfer", () => {
  const plenty = 10n ** 24n;
  const refusal = { error: { code: -32000, message: "exceeds block gas limit" } };

  /**
   * Starts an executor.
   *
   * @param gate decides how the endpoint handles transactions that call the factory
   */
  function start(
    context: TestContext,
    gate: { does: "pass" | "drop" | "refuse" },
    ledgerOf = ({ ledger }: Parts) => ledger,
  ) {
    const budgets = { perDayMax: plenty, perAccountMax: plenty, perClientMax: plenty };
    const answerTo = async (ask: Endpoint["ask"], calls: readonly Call[]): Promise<Answer[]> => {
      const { method, params } = calls[0]!;
      const isCall = method === "eth_sendRawTransaction" && parseTransaction(params[0] as Hex).data;
      if (!isCall || gate.does === "pass") return ask(calls);
      return [gate.does === "drop" ? { result: "0x" } : refusal];
    };
    const adapt = (core: Parts): Parts => ({
      ...core,
      ledger: ledgerOf(core),
      chain: { ...core.chain, budgets },
      endpoints: core.endpoints.map((each) => ({
        ...each,
        ask: (calls) => answerTo(each.ask, calls),
      })),
      tuning: { ...core.tuning, stuckSeconds: 1, resendMs: 600_000 },
    });
    const running = startCore(store, world.chains(), adapt);
    context.after(running.stop);
    const count = (wanted: string) => running.events.filter(({ kind }) => kind === wanted).length;
    return { budgets, count };
  }

  async function paidTogether(): Promise<AddressRecord[]> {
    const records = await Promise.all([1, 2, 3].map(() => world.newRecord()));
    await saveRecords(store, records);
    await world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
    await world.mine();
    return records;
  }

  const jobsOf = (records: readonly AddressRecord[]) =>
    store.db
      .selectFrom("executor_jobs")
      .selectAll()
      .where(
        "address",
        "in",
        records.map(({ address }) => fromHex(address)),
      )
      .execute();

  const oneBlock = async (seconds: number) => {
    await world.client.increaseTime({ seconds });
    await world.mine();
  };

  /**
   * Advances the block time by an hour and waits until the records are executed. Returns the number
   * of transactions that executed them.
   */
  async function transactionsFor(records: readonly AddressRecord[]): Promise<number> {
    await oneBlock(3600);
    world.startTicking(100);
    await until("they are executed", async () =>
      (await fatesOf(world, records)).every((fate) => fate.executed === 1),
    );
    await until("no transaction is pending", () => isAtRest(store));
    world.stopTicking();
    const outcomes = await store.db
      .selectFrom("executor_outcomes")
      .selectAll()
      .where(
        "address",
        "in",
        records.map(({ address }) => fromHex(address)),
      )
      .execute();
    assert.equal(outcomes.length, 3);
    return new Set(outcomes.map((each) => each.transaction_hash)).size;
  }

  /** Checks that the jobs have no failures, and that a single batch then executes all records. */
  async function assertGoTogether(records: readonly AddressRecord[]) {
    const jobs = await jobsOf(records);
    assert.deepEqual(
      jobs.map((job) => [job.failures, job.paid_failures, job.reason]),
      records.map(() => [0, 0, "replaced_by_nothing"]),
    );
    assert.equal(await transactionsFor(records), 1);
  }

  const areFree = async (records: readonly AddressRecord[]) =>
    (await jobsOf(records)).every((job) => Number(job.due_at) > 0 && job.purpose_id === null);

  test("is not counted as a failed attempt if the budget ran out", async (context) => {
    const gate = { does: "pass" as "pass" | "drop" };
    const { budgets, count } = start(context, gate);
    world.startTicking(100);
    await until("no transaction of the test above is pending", () => isAtRest(store));
    world.stopTicking();
    gate.does = "drop";
    const before = count("sent");
    const records = await paidTogether();
    await until("they are sent", async () => count("sent") > before);
    budgets.perDayMax = 0n;
    const replaced = count("replaced");
    await oneBlock(60);
    await until("it is replaced", async () => count("replaced") > replaced);
    gate.does = "pass";
    await world.mine();
    await until("they are free", () => areFree(records));
    budgets.perDayMax = plenty;
    await assertGoTogether(records);
  });

  for (const [what, asFailure] of [
    ["is not counted as a failed attempt if no block could contain it", false],
    ["control: its jobs get separate transactions if it is counted as a failed attempt", true],
  ] as const) {
    test(what, asFailure ? onlyLong : {}, async (context) => {
      const gate = { does: "refuse" as "pass" | "refuse" };
      const { count } = start(context, gate, asFailure ? countsAsFailure : undefined);
      const records = await paidTogether();
      await until("it is sent", async () => count("sent") > 0);
      // The executor abandons a transaction a minute after nodes first refused it as too large.
      await oneBlock(61);
      await until("it is replaced", async () => count("replaced") > 0);
      gate.does = "pass";
      await world.mine();
      await until("they are free", () => areFree(records));
      if (asFailure) assert.equal(await transactionsFor(records), 3);
      else await assertGoTogether(records);
    });
  }
});

/**
 * Returns a ledger for a control test. If a zero-value transfer replaces a transaction, this ledger
 * records a failure of each job.
 */
function countsAsFailure({ ledger }: Parts): Parts["ledger"] {
  return {
    ...ledger,
    settlePurpose: (fence, settlement) => {
      const updates = settlement.updates.map((update) =>
        update.reason === "replaced_by_nothing"
          ? { ...update, failures: 1, paidFailures: 1 }
          : update,
      );
      return ledger.settlePurpose(fence, { ...settlement, updates });
    },
  };
}
