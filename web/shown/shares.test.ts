import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { type Share, sharesIn, sharesOut, sumShares } from "./shares.ts";

const hexOf = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [token, shop, recovery, other] = ["1", "2", "3", "4"].map(hexOf) as [Hex, Hex, Hex, Hex];
const { intent } = makeRecord({
  token,
  amount: "25",
  calls: [{ target: shop, function: "pay()", args: [] }],
  expirationTimestamp: 1_900_000_000,
  recovery,
  salt: `0x${"00".repeat(32)}`,
  chainId: 1,
});
const moved = (to: Hex, amount: string, of = token) => ({ token: of, to, amount });
const said = (shares: Share[]) =>
  shares.map(
    ({ who, units, isReturn, isAwaited }) =>
      `${who} ${units}${isReturn ? " back" : ""}${isAwaited ? " later" : ""}`,
  );

describe("the recipients and their amounts", () => {
  test("an amount without a transfer log is attributed to the intent's calls", () => {
    const execution = {
      held: "30",
      left: "4",
      moved: [moved(shop, "20"), moved(other, "1"), moved(shop, "2")],
    };
    assert.deepEqual(said(sharesOut(intent, execution, 4n)), [
      `${shop} 22`,
      `${other} 1`,
      "byCalls 3",
      `${recovery} 4 back`,
    ]);
  });

  test("a return in the execution's transaction is listed only once", () => {
    const execution = { held: "30", left: "5", moved: [moved(shop, "25"), moved(recovery, "5")] };
    assert.deepEqual(said(sharesOut(intent, execution, 5n)), [`${shop} 25`, `${recovery} 5 back`]);
  });

  test("a payment to the recovery address is not listed as a return", () => {
    const execution = { held: "30", left: "5", moved: [moved(recovery, "25")] };
    assert.deepEqual(said(sharesOut(intent, execution, 5n)), [
      `${recovery} 25`,
      `${recovery} 5 back`,
    ]);
  });

  test("a transfer of another token does not reduce the amount used by the calls", () => {
    const execution = { held: "25", left: "0", moved: [moved(shop, "9", other)] };
    assert.deepEqual(said(sharesOut(intent, execution, 0n)), [`${shop} 9`, "byCalls 25"]);
  });

  test("without an execution, the list contains only returned amounts", () => {
    assert.deepEqual(said(sharesOut(intent, null, 7n)), [`${recovery} 7 back`]);
    assert.deepEqual(sharesOut(intent, null, 0n), []);
    const both = sharesOut(intent, null, 7n, 2n);
    assert.deepEqual(said(both), [`${recovery} 7 back`, `${recovery} 2 back later`]);
  });
});

describe("the payers and their amounts", () => {
  const block = { number: 1, hash: `0x${"0".repeat(64)}` as Hex, timestamp: 1 };
  const paid = (...payments: [Hex, string][]) => ({
    transactionHash: block.hash,
    block,
    payments: payments.map(([from, amount]) => ({ from, amount })),
  });

  test("each known payer is listed once, and all other payers share one entry", () => {
    const payments = [paid([shop, "1"], [other, "2"]), paid([shop, "4"])];
    assert.deepEqual(said(sharesIn(intent, payments, 10n)), [
      `${shop} 5`,
      `${other} 2`,
      "otherPayers 3",
    ]);
    assert.deepEqual(said(sharesIn(intent, payments, 7n)), [`${shop} 5`, `${other} 2`]);
    assert.deepEqual(said(sharesIn(intent, [], 7n)), ["payers 7"]);
  });

  test("only the six largest of 300 payers have their own entry", () => {
    const from = Array.from({ length: 300 }, (_, at) => `0x${`${at}`.padStart(40, "5")}` as Hex);
    const payments = [paid(...from.map((each, at): [Hex, string] => [each, `${at + 1}`]))];
    const found = sharesIn(intent, payments, 0n);
    assert.deepEqual(
      found.map(({ who }) => who),
      [...from.slice(-6), "otherPayers"],
    );
    assert.equal(sumShares(found), 45_150n);
  });
});
