import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readStatus } from "./status.ts";

const status = {
  state: "partially_funded",
  balance: "10",
  block: { number: 7, hash: "0x00", timestamp: 1 },
  execution: null,
  recoveries: [],
};

describe("a status as the server tells it", () => {
  test("is dropped when it is not what it should be, instead of breaking the page", () => {
    const wrong: unknown[] = [
      null,
      [],
      {},
      { ...status, state: "toString" },
      { ...status, balance: "-1" },
      { ...status, balance: undefined },
      { ...status, block: null },
      { ...status, execution: {} },
      { ...status, recoveries: null },
      { ...status, recoveries: [{}] },
    ];
    for (const value of wrong) assert.equal(readStatus(JSON.stringify(value)), undefined);
    assert.equal(readStatus("<html>"), undefined);
  });

  test("is taken when whole", () =>
    assert.equal(readStatus(JSON.stringify(status))?.balance, "10"));
});
