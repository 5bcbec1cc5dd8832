import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { quoteText } from "../ledger/reasons.ts";
import { combineEstimates, type Estimate, judge } from "./estimate.ts";

const takes = (gas: number): Estimate => ({ result: "succeeds", gas });
const fails: Estimate = { result: "fails", reason: quoteText("CallFailed") };

describe("the gas estimate from several endpoints", () => {
  test("is the higher of two estimates or the median of three", () => {
    assert.deepEqual(judge([takes(100_000), takes(25_000)]), takes(100_000));
    assert.deepEqual(judge([takes(9_000_000), takes(100_000), takes(99_000)]), takes(100_000));
  });

  test("fails only if a majority of endpoints reports a failure", () => {
    assert.deepEqual(judge([fails, takes(100_000)]), takes(100_000));
    assert.deepEqual(judge([fails, takes(100_000), takes(100_000)]), takes(100_000));
    assert.deepEqual(judge([fails, takes(100_000), fails]), fails);
  });

  test("is unknown if no endpoint has an estimate", () => {
    assert.deepEqual(judge([{ result: "unknown" }]), { result: "unknown" });
    assert.equal(judge([]), undefined);
  });
});

describe("a recovery of several tokens", () => {
  const tokens: Hex[] = [`0x${"aa".repeat(20)}`, `0x${"bb".repeat(20)}`];
  const unknown: Estimate = { result: "unknown" };

  test("waits with the reason `simulation_unavailable` if no endpoint can simulate it", () => {
    assert.deepEqual(combineEstimates(tokens, [unknown, unknown]), {
      transfers: [],
      reason: "simulation_unavailable",
    });
  });

  test("waits with the reason `CallFailed` if one transfer fails and one is not simulated", () => {
    assert.deepEqual(combineEstimates(tokens, [fails, unknown]), {
      transfers: [],
      reason: "CallFailed",
    });
  });

  test("contains only transfers that succeed, the cheapest first", () => {
    const { transfers } = combineEstimates(tokens, [takes(50_000), takes(40_000)]);
    assert.deepEqual(transfers, [
      { token: tokens[1], gas: 40_000 },
      { token: tokens[0], gas: 50_000 },
    ]);
    assert.equal(combineEstimates(tokens, [fails, takes(1)]).transfers.length, 1);
  });
});
