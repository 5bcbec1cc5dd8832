import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Call, type Hex, type Intent, makeRecord, payWithTolerance } from "../index.ts";
import { fits } from "../shape.ts";
import { buyer, sample, sampleCall, shop, usdc } from "../test/samples.ts";
import {
  deriveReturns,
  mistakes,
  paymentReturns,
  returnedParts,
  returnTimes,
  returnTriggers,
} from "./returns.ts";

const policy = { confirmations: 3, paymentConfirmations: 0, amountMin: "10000" };
const transfer = (amount: string, target: Hex = usdc): Call => ({
  ...{ target, function: "transfer(address to, uint256 amount)", args: [shop, amount] },
});
const approve = (amount: string): Call => ({
  ...{ target: usdc, function: "approve(address spender, uint256 amount)", args: [shop, amount] },
});
const spentBy = (calls: readonly Call[], change: Partial<Intent> = {}) =>
  deriveReturns(makeRecord({ ...sample, ...change, calls: [...calls] })).spent;

describe("deriveReturns", () => {
  test("deriveReturns returns one row for each kind of mistaken payment", () => {
    const found = deriveReturns(makeRecord(sample), policy);
    assert.deepEqual(
      found.returns.map(({ mistake }) => mistake),
      mistakes,
    );
    assert.ok(fits(paymentReturns, found));
    const times = new Set(found.returns.map(({ when }) => when));
    assert.deepEqual([...times].sort(), [...returnTimes].sort());
  });

  test("every row names the recovery address", () => {
    const lower = { ...sample, recovery: sample.recovery.toLowerCase() as typeof buyer };
    for (const { mistake, to, chainId } of deriveReturns(makeRecord(lower), policy).returns) {
      assert.equal(to, buyer, mistake);
      assert.equal(chainId, mistake === "other_chain" ? null : sample.chainId, mistake);
    }
  });

  test("a return that waits for the expiry becomes possible one second after the expiry", () => {
    const { returns } = deriveReturns(makeRecord(sample), policy);
    const timed = returns.filter(({ notBefore }) => notBefore !== null);
    assert.deepEqual(
      timed.map(({ mistake }) => mistake),
      ["late", "too_little", "blocked_recipient", "paused_token"],
    );
    for (const { notBefore } of timed) assert.equal(notBefore, sample.expirationTimestamp + 1);
  });

  test("every return can be triggered by anyone, not only by the executor", () => {
    const { executor, returns } = deriveReturns(makeRecord(sample));
    assert.equal(executor, null);
    for (const { by } of returns) assert.equal(by[0], "anyone");
    for (const { by } of deriveReturns(makeRecord(sample), policy).returns) {
      assert.match(by[0]!, /^executor/);
      assert.ok(by.includes("anyone"));
    }
  });
});

describe("the amount that the calls can spend", () => {
  test("`spent` adds up the transfers and approvals of the token", () => {
    assert.equal(spentBy([transfer("7")]), "7");
    assert.equal(spentBy([transfer("7"), approve("5"), sampleCall, transfer("3")]), "15");
    assert.equal(spentBy([transfer("7"), transfer("9", shop)]), "7");
    assert.equal(spentBy([sampleCall]), "0");
  });

  test("`spent` is the maximum payment that the calls of payWithTolerance accept", () => {
    const { calls, amount } = payWithTolerance({
      ...{ token: usdc, recipient: shop, least: 24n, most: 25n },
    });
    assert.equal(spentBy(calls, { amount }), "25");
  });

  test("`spent` is null if the amount is unlimited or unknown", () => {
    assert.equal(spentBy([approve(`${2n ** 256n - 1n}`), sampleCall]), null);
    const burn = { target: usdc, function: "burn(uint256 amount)", args: ["7"] } as const;
    assert.equal(spentBy([transfer("7"), burn]), null);
  });
});

describe("docs/returns.md", () => {
  const page = readFileSync(new URL("../../docs/returns.md", import.meta.url), "utf8");
  const codesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code!);

  test("docs/returns.md lists the same rows as deriveReturns", () => {
    const shown = [...page.matchAll(/^\| `(\w+)` \| .* \| `(\w+)` \| `(\w+)` \| (.*) \|$/gm)].map(
      ([, mistake, returned, when, by]) => ({ mistake, returned, when, by: codesIn(by!) }),
    );
    const { returns } = deriveReturns(makeRecord(sample), policy);
    assert.deepEqual(
      shown,
      returns.map(({ mistake, returned, when, by }) => ({ mistake, returned, when, by })),
    );
  });

  test("docs/returns.md explains every code that deriveReturns can return", () => {
    const spec = readFileSync(new URL("../../spec/service.md", import.meta.url), "utf8");
    const explained = [...page.matchAll(/^- (`[^:]*):/gm)].flatMap(([, codes]) => codesIn(codes!));
    for (const codes of [returnedParts, returnTimes, returnTriggers])
      for (const code of codes) assert.ok(explained.includes(code), code);
    for (const code of [...mistakes, ...returnedParts, ...returnTimes, ...returnTriggers])
      assert.ok(spec.includes(`\`${code}\``), code);
  });
});
