// Tests a restore from a backup. After the restore, some transactions that the executor's keys sent
// are missing in the database. The executor charges these transactions to their accounts, so the
// daily budget is not spent twice.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import { privateKeyToAccount } from "viem/accounts";
import { executorKey, localChainId } from "../../../../scripts/local-chain.ts";
import { onlyLong } from "../../../../scripts/long.ts";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import { dayOf } from "../../../flow/days.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import {
  assertReportIsExact,
  isAtRest,
  prepare,
  type Running,
  startCore,
} from "../../../testing/executor/executor.ts";
import { readAccountSpending, readSpending } from "../../ledger/spending.ts";
import type { Parts } from "../../pass.ts";

const dayMs = 86_400_000;
/** The chain's time starts at noon, so that no test runs past midnight. */
const startSeconds = Math.floor(Date.now() / dayMs) * 86_400 + 86_400 * 1.5;

const { world, store } = await prepare({ startSeconds });
const { client } = world;
const key = privateKeyToAccount(executorKey);
const [alice, bob] = ["acc_a11ce0000000000000000000", "acc_b0b000000000000000000000"] as const;

type Adapt = (core: Parts) => Parts;

function start(context: TestContext, adapt: Adapt = (core) => core): Running {
  const running = startCore(store, world.chains(), adapt);
  context.after(running.stop);
  return running;
}

const tick = (ms: number, blockSeconds = 0) =>
  world.startTicking(ms, blockSeconds ? { blockSeconds } : {});

const withBudget =
  (perDayMax: bigint): Adapt =>
  (core) => ({
    ...core,
    chain: { ...core.chain, budgets: { ...core.chain.budgets, perDayMax } },
  });

/** Gives the executor `count` endpoints. The function `lies` can change the endpoints' answers. */
const withEndpoints =
  (count: number, lies: (place: number, call: Call, answer: Answer) => Answer): Adapt =>
  (core) => ({
    ...core,
    endpoints: Array.from({ length: count }, (_, place): Endpoint => {
      const { ask } = core.endpoints[0]!;
      return {
        ...core.endpoints[0]!,
        name: `rpc${place}`,
        async ask(calls, timeoutMs) {
          const answers = await ask(calls, timeoutMs);
          return answers.map((answer, index) => lies(place, calls[index]!, answer));
        },
      };
    }),
  });

const tables = [
  "anchors",
  "executor_jobs",
  "executor_purposes",
  "executor_purpose_addresses",
  "executor_transactions",
  "executor_outcomes",
  "executor_spending",
  "executor_account_spending",
  "executor_looks",
] as const;

/**
 * Copies the executor's tables.
 *
 * @returns a function that restores them
 */
async function backUp(): Promise<() => Promise<void>> {
  const copies = await Promise.all(
    tables.map(async (table) => [table, await store.db.selectFrom(table).selectAll().execute()]),
  );
  return async () => {
    for (const [table, rows] of copies as [(typeof tables)[number], object[]][]) {
      await store.db.deleteFrom(table).execute();
      if (rows.length === 0) continue;
      await store.db
        .insertInto(table)
        .values(rows as never)
        .execute();
    }
  };
}

const isExecuted = (record: AddressRecord) =>
  until("it is executed", async () => (await fatesOf(world, [record]))[0]!.executed === 1, 60);

/** Creates and pays one address per account, and waits until the executions are final. */
async function execute(accountIds: readonly string[]): Promise<AddressRecord[]> {
  const records: AddressRecord[] = [];
  for (const accountId of accountIds) {
    const record = await world.newRecord();
    await saveRecords(store, [record], accountId);
    records.push(record);
  }
  await world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
  await until("they are executed", async () =>
    (await fatesOf(world, records)).every(({ executed }) => executed === 1),
  );
  await until("no transaction is pending", () => isAtRest(store));
  return records;
}

const today = async () => dayOf(Number((await client.getBlock()).timestamp));
const spentToday = async () => readSpending(store.db, localChainId, await today());
async function spentFor(accountId: string): Promise<bigint> {
  const accounts = await readAccountSpending(store.db, localChainId, await today());
  return accounts.get(accountId)?.total ?? 0n;
}
const nonceOnChain = () => client.getTransactionCount({ address: key.address });

async function jobOf({ address }: AddressRecord) {
  return store.db
    .selectFrom("executor_jobs")
    .selectAll()
    .where("address", "=", fromHex(address))
    .executeTakeFirst();
}

const waitsFor = (record: AddressRecord, reason: string) =>
  until(`it waits for ${reason}`, async () => (await jobOf(record))?.reason === reason, 60);

async function payOne(accountId: string): Promise<AddressRecord> {
  const record = await world.newRecord({ secondsLeft: 3 * 86_400 });
  await saveRecords(store, [record], accountId);
  await world.pay([{ to: record.address, amount: record.intent.amount }]);
  return record;
}

describe("an executor after a restore from a backup", () => {
  test("charges accounts for transactions that were sent after the backup", async (context) => {
    const restore = await backUp();
    tick(100);
    const first = start(context);
    const records = await execute([alice, bob, alice]);
    await first.stop();
    const [spent, ofAlice, ofBob] = [
      await spentToday(),
      await spentFor(alice),
      await spentFor(bob),
    ];
    assert.ok(ofAlice > 0n && ofBob > 0n && spent === ofAlice + ofBob);

    await restore();
    const next = await payOne(bob);
    const nonce = await nonceOnChain();
    const second = start(context, withBudget(spent));
    await waitsFor(next, "budget_spent");
    await until("it is charged", async () => (await spentToday()) === spent, 30);
    await second.stop();
    assert.equal(await nonceOnChain(), nonce);
    assert.ok((await spentFor(alice)) > 0n && (await spentFor(bob)) > 0n);
    assert.ok((await fatesOf(world, records)).every(({ executed }) => executed === 1));

    // A job that waits for a budget is retried within an hour.
    await client.increaseTime({ seconds: 3600 });
    const third = start(context);
    await isExecuted(next);
    await until("no transaction is pending", () => isAtRest(store));
    await third.stop();
    world.stopTicking();
    await assertReportIsExact(world, store);
  });

  test("charges the account for a replacement that is not in the backup", async (context) => {
    world.stopTicking();
    const lost = start(context);
    const record = await payOne(bob);
    await world.mine();
    await until("it is sent", async () => (await jobOf(record))?.state === "sent");
    await lost.stop();
    const before = await spentFor(bob);
    const sent = await store.db
      .selectFrom("executor_transactions as sent")
      .innerJoin("executor_purposes as purpose", "purpose.id", "sent.purpose_id")
      .select("sent.hash")
      .where("purpose.state", "=", "pending")
      .executeTakeFirstOrThrow();
    const old = await client.getTransaction({ hash: sent.hash as Hex });
    await client.dropTransaction({ hash: old.hash });
    const raw = await key.signTransaction({
      type: "eip1559",
      chainId: localChainId,
      nonce: old.nonce,
      to: old.to,
      data: old.input,
      gas: old.gas,
      maxFeePerGas: old.maxFeePerGas! * 2n,
      maxPriorityFeePerGas: old.maxPriorityFeePerGas! * 2n,
    });
    await client.sendRawTransaction({ serializedTransaction: raw });
    tick(100);
    const running = start(context);
    await isExecuted(record);
    await until("no transaction is pending", () => isAtRest(store));
    await running.stop();
    world.stopTicking();
    assert.ok((await spentFor(bob)) > before);
    await assertReportIsExact(world, store);
  });

  test(
    "charges only the transactions of today if all tables are empty",
    onlyLong,
    async (context) => {
      tick(100);
      const lost = start(context);
      await execute([alice]);
      world.stopTicking();
      await client.increaseTime({ seconds: 86_400 });
      await world.mine();
      tick(100);
      const before = await spentToday();
      assert.equal(before, 0n);
      await execute([bob]);
      await lost.stop();
      const spent = await spentToday();
      for (const table of tables) await store.db.deleteFrom(table).execute();
      const running = start(context);
      await until("it is charged", async () => (await spentToday()) === spent);
      await execute([bob]);
      await running.stop();
      world.stopTicking();
      const { events } = running;
      assert.ok(events.every(({ kind }) => kind !== "nonces_written_off"));
      assert.equal(await spentFor(alice), 0n);
    },
  );

  test(
    "charges the highest possible cost of a transaction that no node has",
    onlyLong,
    async (context) => {
      const restore = await backUp();
      tick(100);
      const first = start(context);
      await execute([alice]);
      await execute([bob]);
      await first.stop();
      const really = await spentToday();
      await restore();
      world.stopTicking();
      tick(100, 5);
      const pruned = withEndpoints(2, (_, { method, params }, answer) => {
        const isOld = method === "eth_getTransactionCount" && /^0x/.test(`${params[1]}`);
        return isOld ? { error: { code: -32000, message: "missing trie node" } } : answer;
      });
      const second = start(context, pruned);
      const next = await payOne(bob);
      await isExecuted(next);
      await until("no transaction is pending", () => isAtRest(store));
      await second.stop();
      world.stopTicking();
      const writtenOff = second.events.filter((event) => event.kind === "nonces_written_off");
      assert.equal(writtenOff.length, 1);
      const [{ count, wei }] = writtenOff as [(typeof writtenOff)[0]];
      assert.equal(count, 2);
      assert.ok(wei > really, `${wei} wei, really ${really}`);
      assert.ok((await spentToday()) > wei);
    },
  );

  test("charges at most the remaining daily budget for unknown transactions", async (context) => {
    const restore = await backUp();
    tick(100);
    const first = start(context);
    await execute([alice]);
    await first.stop();
    await restore();
    world.stopTicking();
    tick(100, 5);
    const budget = (await spentToday()) + 10n ** 12n;
    const pruned = withEndpoints(1, (_, { method, params }, answer) => {
      const isOld = method === "eth_getTransactionCount" && /^0x/.test(`${params[1]}`);
      return isOld ? { error: { code: -32000, message: "missing trie node" } } : answer;
    });
    const second = start(context, (core) => pruned(withBudget(budget)(core)));
    const next = await payOne(bob);
    await until("it is charged", async () => (await spentToday()) === budget, 30);
    await waitsFor(next, "budget_spent");
    await second.stop();
    world.stopTicking();
    await client.increaseTime({ seconds: 86_400 });
    await world.mine();
    tick(100);
    const third = start(context);
    await isExecuted(next);
    await third.stop();
    world.stopTicking();
  });
});

test("an account is charged even if an endpoint lies about past nonces", async (context) => {
  const restore = await backUp();
  tick(100);
  const first = start(context);
  await execute([alice]);
  await first.stop();
  const spent = await spentToday();
  await restore();
  world.stopTicking();
  tick(100, 5);
  // According to one endpoint, all nonces were used on an earlier day.
  const liar = withEndpoints(2, (place, { method, params }, answer) => {
    const isOld = method === "eth_getTransactionCount" && /^0x/.test(`${params[1]}`);
    return place === 0 && isOld ? { result: "0xffff" } : answer;
  });
  const running = start(context, liar);
  await until("it is charged", async () => (await spentToday()) >= spent, 30);
  const next = await payOne(bob);
  await isExecuted(next);
  await running.stop();
  world.stopTicking();
});

for (const count of [2, 3]) {
  const options = count === 2 ? {} : onlyLong;
  test(
    `an executor charges nothing if one of ${count} endpoints returns a nonce that is too high`,
    options,
    async (context) => {
      tick(100, 5);
      const liar = withEndpoints(count, (place, { method, params }, answer) => {
        if (place > 0 || method !== "eth_getTransactionCount" || !("result" in answer))
          return answer;
        if (`${params[0]}`.toLowerCase() !== key.address.toLowerCase()) return answer;
        return { result: `0x${(Number(answer.result) + 1000).toString(16)}` };
      });
      const running = start(context, liar);
      const before = await spentToday();
      const record = await payOne(alice);
      await isExecuted(record);
      await client.increaseTime({ seconds: 120 });
      const next = await payOne(alice);
      await isExecuted(next);
      await running.stop();
      world.stopTicking();
      const { events } = running;
      assert.ok(events.every(({ kind }) => kind !== "nonces_written_off"));
      assert.ok((await spentToday()) - before < 10n ** 15n);
    },
  );
}
