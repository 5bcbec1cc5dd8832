// Tests the checks of a stored order: it must exist and have the requested payment terms.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { makeRecord } from "executable-address";
import { sample, shop } from "../address/test/samples.ts";
import { assertSame, newOrder, requireStored } from "./order.ts";
import { sqliteStore } from "./shop.ts";

const record = makeRecord(sample);
const order = newOrder("order-1", record, "made");

describe("requireStored", () => {
  test("requireStored throws if the order is missing", async () => {
    const store = sqliteStore(new DatabaseSync(":memory:"));
    await assert.rejects(requireStored(store, "order-1"), {
      message: "order-1: expected an order in the store, found none",
    });
    const stored = await store.saveOrder(order);
    assert.deepEqual(await requireStored(store, "order-1"), stored);
  });
});

describe("assertSame", () => {
  test("assertSame throws `reference_in_use` if the amount, recovery, or calls differ", () => {
    const { recovery, amount, calls } = sample;
    for (const [change, difference] of [
      [{ amount: "7" }, `expected amount ${amount}, found 7`],
      [{ recovery: shop }, `expected recovery ${recovery}, found ${shop}`],
      [{ calls: [...calls, ...calls] }, "expected the same calls, found other calls"],
    ] as const) {
      const start = `${record.address} has this reference, but a different intent`;
      const message = `${start}: ${difference}`;
      const issues = [{ path: ["reference"], code: "reference_in_use", message }];
      const other = makeRecord({ ...sample, ...change });
      assert.throws(() => assertSame(order, other), { name: "InvalidError", issues });
    }
  });

  test("assertSame accepts an intent with another expiration time", () => {
    const later = makeRecord({ ...sample, expirationTimestamp: sample.expirationTimestamp + 1 });
    assert.equal(assertSame(order, later), order);
  });
});
