import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, zeroAddress } from "executable-address";
import { elsewhereOf, type MovedElsewhere } from "./amounts.ts";

const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const hash = (n: number): Hex => `0x${`${n}`.repeat(64)}`;
/** Returns a transfer in block `n`. Every digit of its transaction hash is `n`. */
const moved = (n: number, amount: string, chainId = 10): MovedElsewhere => ({
  ...{ chainId, token, amount, blockNumber: n, transactionHash: hash(n) },
});
const balance = (blockNumber: number, amount: string, of: Hex = token) => ({
  ...{ chainId: 10, token: of, amount, blockNumber },
});
/**
 * Returns each amount as text: chain, amount, state, and the first digit of the transaction hash.
 */
const shown = (
  paid: MovedElsewhere[],
  balances: ReturnType<typeof balance>[] = [],
  returned: MovedElsewhere[] = [],
) =>
  elsewhereOf({ paid, balances }, returned).map(
    ({ chainId, amount, state, transactionHash }) =>
      `${chainId} ${amount} ${state} ${transactionHash?.[2] ?? null}`,
  );

describe("elsewhereOf", () => {
  test("returns an empty list if nothing was paid on another chain", () => {
    assert.deepEqual(shown([]), []);
    assert.deepEqual(shown([], [balance(9, "0")]), []);
  });

  test("returns the sum of the transfers for each chain and token", () => {
    const found = shown([moved(1, "5"), moved(2, "7"), moved(3, "9", 137)]);
    assert.deepEqual(found, ["10 12 held 2", "137 9 held 3"]);
  });

  test("reports the amount that was sent back and the amount that remains", () => {
    const back = { ...moved(3, "5"), token: token.toLowerCase() as Hex };
    assert.deepEqual(shown([moved(1, "5")], [balance(2, "5")], [back]), ["10 5 returned 3"]);
    assert.deepEqual(shown([moved(1, "5"), moved(4, "1")], [balance(2, "5")], [back]), [
      "10 5 returned 3",
      "10 1 held 4",
    ]);
  });

  test("reports the whole returned amount even if the known transfers are smaller", () => {
    assert.deepEqual(shown([moved(1, "5")], [balance(4, "0")], [moved(3, "500")]), [
      "10 500 returned 3",
    ]);
  });

  test("reports money as returned once it has left the address, even if dust arrives later", () => {
    const gone = [balance(3, "0")];
    assert.deepEqual(shown([moved(1, "25000000")], gone), ["10 25000000 returned null"]);
    const dust = [moved(1, "25000000"), moved(4, "1"), moved(5, "1")];
    const both = ["10 25000000 returned null", "10 2 held 5"];
    assert.deepEqual(shown(dust, gone), both);
    assert.deepEqual(shown(dust, [balance(6, "2")]), both);
    assert.deepEqual(shown(dust, [balance(6, "0")]), ["10 25000002 returned null"]);
  });

  test("reports the whole balance even if the known transfers are smaller", () => {
    const dust = Array.from({ length: 32 }, (_, n) => moved(n, "1"));
    assert.deepEqual(shown(dust, [balance(40, "25000032")])[0]?.slice(0, 16), "10 25000032 held");
    assert.deepEqual(shown([], [balance(40, "9", zeroAddress)]), ["10 9 held null"]);
  });

  test("returns the hash of the largest transfer since the last return", () => {
    const paid = [moved(1, "70"), moved(3, "25"), moved(4, "1")];
    assert.deepEqual(shown(paid, [balance(5, "26")], [moved(2, "70")]), [
      "10 70 returned 2",
      "10 26 held 3",
    ]);
  });
});
