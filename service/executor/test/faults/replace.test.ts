// Transactions that no node takes are replaced for more, as far as the day's budget allows it.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Hex } from "executable-address";
import { parseTransaction, toHex } from "viem";
import { saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../../testing/executor/executor.ts";
import { startProxy } from "../../../testing/executor/rpc-proxy.ts";

const { world, store } = await prepare();
const silent = await startProxy(world.rpcUrl);
after(silent.stop);

/** By purpose, the wei that each of its transactions may cost, oldest first. */
async function costs(): Promise<bigint[][]> {
  const rows = await store.db
    .selectFrom("executor_transactions")
    .select(["purpose_id", "raw"])
    .orderBy("signed_at")
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

test("several in one pass share what the budget has left for one", async (context) => {
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
  budgets.perDayMax = sent + raise;
  await world.client.increaseTime({ seconds: 60 });
  await world.mine();
  await until("each is replaced", async () => count("replaced") >= 3);
  const worst = sum((await costs()).map(most));
  assert.ok(worst > sent, "one was replaced for more");
  assert.ok(worst <= budgets.perDayMax, `${worst} of ${budgets.perDayMax} wei`);
});
