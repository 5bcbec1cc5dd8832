import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { elsewhereOf, type PaidElsewhere } from "./elsewhere.ts";

const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const hash = (n: number): Hex => `0x${`${n}`.repeat(64)}`;
const paid = (n: number, amount: string, chainId = 10): PaidElsewhere => ({
  ...{ chainId, token, amount, transactionHash: hash(n) },
});
const nothing = { returned: [], emptyOn: new Set<number>() };

describe("money on other chains", () => {
  test("is empty if nothing was paid there", () => {
    assert.deepEqual(elsewhereOf([], nothing), []);
  });

  test("is summed per chain and token, with the newest transfer", () => {
    const found = elsewhereOf([paid(1, "5"), paid(2, "7"), paid(3, "9", 137)], nothing);
    assert.deepEqual(found, [
      { ...paid(2, "12"), state: "held" },
      { ...paid(3, "9", 137), state: "held" },
    ]);
  });

  test("is reported as returned in the amounts that the factory measured", () => {
    const returned = [{ ...paid(8, "5"), token: token.toLowerCase() as Hex }];
    assert.deepEqual(elsewhereOf([paid(1, "5")], { ...nothing, returned }), [
      { ...returned[0], state: "returned" },
    ]);
    assert.deepEqual(elsewhereOf([paid(1, "5"), paid(2, "1")], { ...nothing, returned }), [
      { ...returned[0], state: "returned" },
      { ...paid(2, "1"), state: "held" },
    ]);
  });

  test("can be returned in a higher amount than was seen to arrive", () => {
    const returned = [paid(8, "500")];
    assert.deepEqual(elsewhereOf([paid(1, "5")], { ...nothing, returned }), [
      { ...returned[0], state: "returned" },
    ]);
  });

  test("counts as returned by somebody else if the executor finds nothing there", () => {
    const emptyOn = new Set([10]);
    assert.deepEqual(elsewhereOf([paid(1, "5")], { returned: [], emptyOn }), [
      { ...paid(1, "5"), state: "returned", transactionHash: null },
    ]);
  });
});
