// Tests that a fact is rejected if its order changed during the proof. shop.test.ts tests facts
// from a real chain.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { makeRecord } from "executable-address";
import type { ProvedEvent } from "executable-address/webhook";
import { sample } from "../address/test/samples.ts";
import { applyFact, type FactParts } from "./facts.ts";
import { newOrder } from "./order.ts";
import { type ShopStore, sqliteStore } from "./shop.ts";

const { address } = makeRecord(sample);
const executed: Extract<ProvedEvent, { fact: "executed" }> = {
  ...{ address, fact: "executed", transactionHash: `0x${"11".repeat(32)}` },
  ...{ held: "1000000", left: "0", depth: 0 },
};

/** Creates a store with an open order, and functions that record the shop's deliveries. */
async function open() {
  const store = sqliteStore(new DatabaseSync(":memory:"));
  const order = (await store.saveOrder(newOrder("order-1", makeRecord(sample), "open")))!;
  const delivered: string[] = [];
  const parts = (given: ShopStore): FactParts => ({
    store: given,
    deliver: ({ reference }) => delivered.push(reference),
    refund: () => assert.fail("nothing came back"),
    warn: (message) => assert.fail(message),
  });
  return { store, order, delivered, parts };
}

describe("applyFact", () => {
  test("applyFact delivers nothing if the order changed after it was read", async () => {
    const { store, order, delivered, parts } = await open();
    await store.saveOrder(order);
    const message = "order-1: the order changed while its event was being proved";
    await assert.rejects(applyFact(order, executed, parts(store)), { message });
    assert.deepEqual(delivered, []);
  });

  test("a payment or return on another chain does not change the order", async () => {
    const { store, order, delivered, parts } = await open();
    const place = { address, chainId: 10, transactionHash: executed.transactionHash, depth: 1 };
    const facts: ProvedEvent[] = [
      { ...place, fact: "paidElsewhere", token: address, payments: [] },
      { ...place, fact: "returnedElsewhere", recoveries: [] },
    ];
    const told: ProvedEvent[] = [];
    for (const fact of facts) {
      await applyFact(order, fact, parts(store));
      const onElsewhere = (_: unknown, found: ProvedEvent) => told.push(found);
      await applyFact(order, fact, { ...parts(store), onElsewhere });
    }
    assert.deepEqual(told, facts);
    assert.deepEqual(delivered, []);
    assert.deepEqual(await store.findByAddress(address), order);
  });

  test("applyFact throws if the order is missing after the delivery", async () => {
    const { store, order, delivered, parts } = await open();
    const losing: ShopStore = {
      ...store,
      saveOrder: (next) => (next.deliveredFor ? undefined : store.saveOrder(next)),
      findByAddress: () => undefined,
    };
    const message = "order-1: expected an order in the store, found none";
    await assert.rejects(applyFact(order, executed, parts(losing)), { message });
    assert.deepEqual(delivered, ["order-1"]);
  });
});
