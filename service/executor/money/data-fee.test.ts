import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DataFee, isFree, mergeDataFees, unknownDataFee } from "./data-fee.ts";

const known: DataFee = { ...unknownDataFee, perByte: 7n };
const weigh = (...bounds: bigint[]) => mergeDataFees(known, bounds, { quorum: 2, nowMs: 1000 });

describe("the data fee of a chain", () => {
  test("is the median of three endpoints' reports, or the higher of two", () => {
    assert.equal(weigh(1n, 900n, 9n).perByte, 9n);
    assert.equal(weigh(9n, 0n).perByte, 9n);
    assert.equal(weigh(0n, 9n).perByte, 9n);
  });

  test("is not lowered by a single endpoint or a missing answer", () => {
    assert.equal(weigh(0n).perByte, 7n);
    assert.equal(weigh(9n).perByte, 9n);
    assert.equal(weigh().perByte, 7n);
  });
});

describe("isFree", () => {
  test("returns true for an hour if a quorum has answered and every answer is zero", () => {
    const none = weigh(0n, 0n, 0n);
    assert.equal(none.perByte, 0n);
    assert.ok(isFree(none, 3_600_999));
    assert.ok(!isFree(none, 3_601_000));
    assert.ok(!isFree(weigh(0n, 0n, 9n), 1000));
    assert.ok(!isFree(weigh(0n), 1000));
    assert.ok(!isFree(unknownDataFee, 0));
  });
});
