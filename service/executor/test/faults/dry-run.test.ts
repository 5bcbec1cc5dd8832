// Tests that a dry run reports the planned costs, but spends and changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hex } from "executable-address";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import {
  isAtRest,
  mapSigners,
  partsFor,
  prepare,
  startCore,
  twoKeys,
} from "../../../testing/executor/executor.ts";
import { dryRun } from "../../dry-run.ts";
import { setPaused } from "../../ledger/lease.ts";
import { openParts } from "../../start.ts";

const { world, store } = await prepare({ tickMs: 100 });
const keys = twoKeys.slice(0, 1) as unknown as typeof twoKeys;

test("a dry run signs nothing, and reports the maximum cost and a pause", async (context) => {
  await setPaused(store.db, 31_337, true);
  const records = await Promise.all([
    world.newRecord(),
    world.newRecord(),
    world.newRecord({ reverts: true }),
    // A real pass saves the balances of this address, because its intent is for another chain.
    world.newRecord({ chainId: 31_338 }),
  ]);
  await saveRecords(store, records);
  const running = startCore(store, world.chains());
  context.after(running.stop);
  await world.pay(records.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
  await until("they are noted", async () => {
    const jobs = await store.db.selectFrom("executor_jobs").select("address").execute();
    return jobs.length === records.length;
  });
  await running.stop();

  const tables = [
    "executor_jobs",
    "executor_purposes",
    "executor_leases",
    "anchors",
    "balances",
  ] as const;
  const stored = async () =>
    JSON.stringify(
      await Promise.all(tables.map((table) => store.db.selectFrom(table).selectAll().execute())),
    );
  const [before, sender] = [await stored(), keys[0].address];
  const nonce = await world.client.getTransactionCount({ address: sender });
  let signed = 0;
  const signers = mapSigners(keys, () => () => {
    signed++;
    return Promise.reject(new Error("a dry run signs nothing"));
  });
  const [core] = openParts(partsFor(store, world.chains()), AbortSignal.abort(), signers);
  const plan = await dryRun(core!);
  assert.equal(signed, 0);
  assert.equal(plan.paused, true);
  assert.equal(await stored(), before);
  assert.equal(await world.client.getTransactionCount({ address: sender }), nonce);
  const planned = plan.transactions.flatMap(({ addresses }) =>
    addresses.map((each) => each.address),
  );
  const [first, second, reverting, elsewhere] = records.map(({ address }) => address.toLowerCase());
  assert.deepEqual(planned.toSorted(), [first, second, elsewhere].toSorted());
  const kinds = plan.transactions.map(({ kind }) => kind);
  assert.deepEqual(kinds.toSorted(), ["execute", "recover"]);
  const parts = plan.transactions.flatMap(({ addresses }) => addresses);
  assert.equal(
    parts.reduce((sum, { weiMax }) => sum + BigInt(weiMax), 0n),
    BigInt(plan.weiMax),
  );
  const [waits] = plan.waiting;
  assert.equal(waits?.address, reverting);
  assert.match(waits!.reason!, /CallFailed/);

  await setPaused(store.db, 31_337, false);
  assert.equal((await dryRun(core!)).paused, false);
  const real = startCore(store, world.chains());
  context.after(real.stop);
  await until("they are executed", async () =>
    (await fatesOf(world, records.slice(0, 2))).every(({ executed }) => executed === 1),
  );
  await until("no transaction is pending", () => isAtRest(store));
  await real.stop();
  const purposes = await store.db.selectFrom("executor_purposes").selectAll().execute();
  const baseFeeAt = async (blockNumber: bigint) =>
    (await world.client.getBlock({ blockNumber })).baseFeePerGas!;
  const plannedFee = await baseFeeAt(BigInt(plan.block));
  let [paid, worth] = [0n, 0n];
  for (const { transaction_hash } of purposes) {
    const hash = transaction_hash as Hex;
    const receipt = await world.client.getTransactionReceipt({ hash });
    const { gasUsed, effectiveGasPrice, blockNumber } = receipt;
    paid += gasUsed * effectiveGasPrice;
    // `worth` is the cost at the planned base fee. Each empty block lowers the actual base fee. On
    // a slow machine, more empty blocks precede the executions.
    worth += gasUsed * (effectiveGasPrice - (await baseFeeAt(blockNumber)) + plannedFee);
  }
  const most = BigInt(plan.weiMax);
  const figures = `${paid} wei, ${worth} at the planned base fee, of ${most}`;
  assert.ok(paid > 0n && paid <= most && most <= worth * 8n, figures);
});
