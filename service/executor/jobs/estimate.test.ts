import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { quoteText } from "../ledger/reasons.ts";
import { type Estimate, judge } from "./estimate.ts";

const takes = (gas: number): Estimate => ({ result: "succeeds", gas });
const fails: Estimate = { result: "fails", reason: quoteText("CallFailed") };

describe("estimates of several endpoints", () => {
  test("use the higher of two amounts, or the median of three", () => {
    assert.deepEqual(judge([takes(100_000), takes(25_000)]), takes(100_000));
    assert.deepEqual(judge([takes(9_000_000), takes(100_000), takes(99_000)]), takes(100_000));
  });

  test("ignore a failure that only a minority of endpoints reports", () => {
    assert.deepEqual(judge([fails, takes(100_000)]), takes(100_000));
    assert.deepEqual(judge([fails, takes(100_000), takes(100_000)]), takes(100_000));
    assert.deepEqual(judge([fails, takes(100_000), fails]), fails);
  });

  test("stay unknown if no endpoint has an estimate", () => {
    assert.deepEqual(judge([{ result: "unknown" }]), { result: "unknown" });
    assert.equal(judge([]), undefined);
  });
});
