import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { factoryAddress } from "executable-address-contracts";
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
  mapSigners,
  prepare,
  startCore,
  twoKeys,
} from "../../../testing/executor/executor.ts";

const { world, store } = await prepare({ tickMs: 100 });

const chains = world.chains([world.rpcUrl], { tipPrices });

describe("two executors", () => {
  const count = rounds(30, 200);
  test(`execute each of ${count} payments only once`, async (context) => {
    const isTipped = (index: number) => index >= count - 5;
    const records = await Promise.all(
      Array.from({ length: count }, (_, i) => world.newRecord(isTipped(i) ? { tip: unit } : {})),
    );
    const tipped = records.filter((_, index) => isTipped(index));
    await saveRecords(store, tipped, tipper);
    await saveRecords(
      store,
      records.filter((_, index) => !isTipped(index)),
    );
    // Signing takes longer than `leaseMs`, so another executor takes the lease during signing.
    const hasty = () =>
      startCore(store, chains, (core) => ({
        ...core,
        signers: mapSigners(twoKeys, (signer) => async (transaction) => {
          if (transaction.nonce % 3 === 2) await sleep(250);
          return signer.sign(transaction);
        }),
        tuning: { ...core.tuning, pollMs: 40, leaseMs: 80, batchItemsMax: 5 },
      }));
    const both = [hasty(), hasty()];
    for (const each of both) context.after(each.stop);
    for (let at = 0; at < count; at += 20) {
      const some = records.slice(at, at + 20);
      await world.pay(some.map((r) => ({ to: r.address, amount: r.intent.amount })));
      await sleep(150);
    }
    await until("all are executed once", async () =>
      (await fatesOf(world, records)).every((fate) => fate.executed === 1),
    );
    await until("no transaction is pending", () => isAtRest(store));
    for (const each of both) await each.stop();

    const failures = await world.client.getLogs({ address: factoryAddress, fromBlock: 0n });
    assert.equal(failures.length, count, "every event of the factory is an execution");
    const sent = await store.db
      .selectFrom("executor_purposes")
      .select(["sender", "nonce"])
      .execute();
    assert.equal(new Set(sent.map(({ sender, nonce }) => `${sender} ${nonce}`)).size, sent.length);
    assert.equal(new Set(sent.map(({ sender }) => sender)).size, 2, "both keys sent");
    const taken = both.map((each) => each.events.filter((e) => e.kind === "lease_taken").length);
    assert.ok(taken[0]! + taken[1]! > 1, "the lease changed hands");
    await assertBooksAreExact(world, store);
  });
});
