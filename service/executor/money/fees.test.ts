import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  bumpFee,
  type DataFee,
  isFree,
  mergeDataFees,
  parsePriorityFee,
  suggestFee,
  unknownDataFee,
} from "./fees.ts";

const policy = { perGasMax: 1000n, priorityMin: 2n, priorityMax: 5n };
/**
 * With this base fee, the priority fee is limited to 200 wei per gas. Most replacements in these
 * tests have a lower priority fee.
 */
const baseFee = 100n;

describe("suggestFee", () => {
  test("limits the maximum fee and the priority fee to `perGasMax`", () => {
    const { fee, neededPerGas } = suggestFee(5000n, 3000n, policy);
    assert.deepEqual(fee, { maxFee: 1000n, priorityFee: 1000n });
    assert.equal(neededPerGas, 8000n);
  });

  test("limits the priority fee to the higher of `priorityMax` and twice the base fee", () => {
    const gwei = 1_000_000_000n;
    const open = { ...policy, perGasMax: 500n * gwei, priorityMax: 3n * gwei };
    assert.equal(suggestFee(2n * gwei, 450n * gwei, open).fee.priorityFee, 4n * gwei);
    assert.equal(suggestFee(1n, 450n * gwei, open).fee.priorityFee, 3n * gwei);
  });

  test("returns twice the base fee plus the priority fee", () => {
    assert.deepEqual(suggestFee(100n, 5n, policy).fee, { maxFee: 205n, priorityFee: 5n });
    assert.deepEqual(suggestFee(100n, 0n, policy).fee, { maxFee: 202n, priorityFee: 2n });
  });
});

describe("parsePriorityFee", () => {
  test("returns the median of the blocks that have transactions", () => {
    const gasUsedRatio = [0, 0.5, 0, 0.2, 0.1];
    const reward = [["0x0"], ["0x5"], ["0x0"], ["0x7"], ["0x64"]];
    assert.equal(parsePriorityFee({ gasUsedRatio, reward }), 7n);
    assert.equal(parsePriorityFee({ gasUsedRatio: [0], reward: [["0x0"]] }), undefined);
  });
});

describe("bumpFee", () => {
  test("returns undefined if the new fee would exceed `perGasMax`", () => {
    assert.equal(
      bumpFee({ maxFee: 900n, priorityFee: 9n }, { maxFee: 1n, priorityFee: 1n }, baseFee, policy),
      undefined,
    );
  });

  test("raises both fees by at least an eighth and at least one wei", () => {
    const low = { maxFee: 1n, priorityFee: 1n };
    assert.deepEqual(bumpFee({ maxFee: 800n, priorityFee: 80n }, low, baseFee, policy), {
      maxFee: 900n,
      priorityFee: 90n,
    });
    assert.deepEqual(bumpFee({ maxFee: 3n, priorityFee: 1n }, low, baseFee, policy), {
      maxFee: 4n,
      priorityFee: 2n,
    });
  });

  test("returns the currently suggested fee if it is higher than the raised fee", () => {
    const asked = { maxFee: 500n, priorityFee: 50n };
    assert.deepEqual(bumpFee({ maxFee: 100n, priorityFee: 10n }, asked, baseFee, policy), asked);
  });

  test("keeps the priority fee within its limit even after 80 replacements", () => {
    const gwei = 1_000_000_000n;
    const open = { perGasMax: 500n * gwei, priorityMin: 1n, priorityMax: 3n * gwei };
    const { fee: first } = suggestFee(gwei, gwei, open);
    const rises = (each: { maxFee: bigint; priorityFee: bigint }, times: number) => {
      for (let i = 0; i < times; i++) each = bumpFee(each, first, gwei, open) ?? each;
      return each;
    };
    assert.ok(rises(first, 3).priorityFee > first.priorityFee);
    assert.ok(rises(first, 80).priorityFee <= 3n * gwei);
    // A higher base fee raises the limit on the priority fee.
    assert.ok(bumpFee(rises(first, 80), first, 4n * gwei, open));
  });
});

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
