import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AddressStatus, Execution, Recovery } from "executable-address/status";
import { compareStatuses, type KnownStatus, nothingKnown } from "./changes.ts";
import type { Paid } from "./paid.ts";
import type { StoredPayment } from "./payments.ts";

const hash = (n: number) => `0x${n.toString(16).padStart(64, "0")}` as const;
const token = `0x${"a".repeat(40)}` as const;
const place = (n: number, block = n) => ({
  transactionHash: hash(n),
  blockNumber: block,
  blockHash: hash(1000 + block),
  logIndex: 0,
});
const execution = (n: number, left = "0"): Execution => ({ ...place(n), held: "100", left });
const recovery = (n: number): Recovery => ({ ...place(n), token, amount: "5" });

function statusOf(change: Partial<AddressStatus>): AddressStatus {
  return {
    address: `0x${"1".repeat(40)}`,
    state: "unfunded",
    chainId: 1,
    block: { number: 9, hash: hash(9), timestamp: 9 },
    token,
    balance: "0",
    amount: "100",
    expirationTimestamp: 50,
    recoverable: [],
    execution: null,
    recoveries: [],
    ...change,
  };
}

const unfunded = statusOf({});
const part = statusOf({ state: "partially_funded", balance: "1" });
const funded = statusOf({ state: "funded", balance: "100" });
const executed = statusOf({ state: "executed", execution: execution(1) });
const expired = statusOf({ state: "expired", recoverable: [{ token, amount: "5" }] });
const late = statusOf({ ...executed, recoverable: [{ token, amount: "5" }] });
const returned = statusOf({ ...executed, recoveries: [recovery(2)] });
const recovered = statusOf({ state: "recovered", recoveries: [recovery(2)] });

const paidBy = (payments: StoredPayment[], change: Partial<Paid> = {}): Paid => ({
  ...{ payments, isSwept: true, lateBlocks: new Set() },
  ...change,
});

const payment = (n: number, amount: string): StoredPayment => ({
  ...{ ...place(n), logIndex: n, payer: `0x${"c".repeat(40)}`, token, amount },
  ...{ isSmall: false, isLookalike: false, claim: 0 },
});

/**
 * Returns the event types for a series of statuses. There are no transfer logs, so no payments are
 * reported.
 */
function typesOf(...statuses: AddressStatus[]): string[] {
  return newsOf(...statuses.map((status) => [status, paidBy([], { isSwept: false })] as const)).map(
    ({ type }) => type.replace("address.", ""),
  );
}

function newsOf(...seen: (readonly [AddressStatus, Paid])[]) {
  let known: KnownStatus = nothingKnown;
  return seen.flatMap(([status, paid]) => {
    const next = compareStatuses(known, status, paid);
    known = JSON.parse(JSON.stringify(next.known));
    return next.changes;
  });
}

const paymentsOf = (news: ReturnType<typeof newsOf>) =>
  news.flatMap((each) => (each.type === "address.payment" ? [each.payment] : []));

describe("compareStatuses", () => {
  test("returns no event if no state changed", () => {
    for (const status of [unfunded, funded, executed, expired, late, returned, recovered])
      assert.deepEqual(typesOf(status, status), typesOf(status));
    assert.deepEqual(typesOf(unfunded, part, unfunded), []);
  });

  test("returns `address.reverted` and the new state after a reorganization", () => {
    assert.deepEqual(typesOf(executed, funded), ["executed", "reverted", "funded"]);
    assert.deepEqual(typesOf(executed, unfunded), ["executed", "reverted"]);
    assert.deepEqual(typesOf(funded, part), ["funded", "reverted"]);
    assert.deepEqual(typesOf(returned, executed), [
      "executed",
      "recovered",
      "reverted",
      "executed",
    ]);
    assert.deepEqual(typesOf(recovered, expired), ["recovered", "reverted", "expired"]);
    assert.deepEqual(typesOf(expired, part), ["expired", "reverted"]);
    const elsewhere = statusOf({ ...executed, execution: execution(7) });
    assert.deepEqual(typesOf(executed, elsewhere), ["executed", "reverted", "executed"]);
    const other = statusOf({ ...returned, recoveries: [recovery(8), recovery(9)] });
    assert.deepEqual(typesOf(returned, other).slice(2), ["reverted", "executed", "recovered"]);
  });

  test("returns each observed state once", () => {
    assert.deepEqual(typesOf(part, funded, executed), ["funded", "executed"]);
    assert.deepEqual(typesOf(executed), ["executed"]);
    assert.deepEqual(typesOf(part, expired, recovered), ["expired", "recovered"]);
    assert.deepEqual(typesOf(recovered), ["recovered"]);
  });

  test("returns `address.surplus` for money that remains at a closed address", () => {
    const over = statusOf({ state: "executed", execution: execution(1, "5") });
    assert.deepEqual(typesOf(over), ["executed", "surplus"]);
    assert.deepEqual(typesOf(executed, late), ["executed", "surplus"]);
    const more = statusOf({ ...late, recoverable: [{ token, amount: "9" }] });
    assert.deepEqual(typesOf(executed, late, more), ["executed", "surplus", "surplus"]);
    assert.deepEqual(typesOf(executed, more, late), ["executed", "surplus"]);
    assert.deepEqual(typesOf(late, returned), ["executed", "surplus", "recovered"]);
    const lateAfter = statusOf({ ...recovered, recoverable: [{ token, amount: "5" }] });
    assert.deepEqual(typesOf(recovered, lateAfter), ["recovered", "surplus"]);
  });

  test("reports a payment once even if its log is found after the balance has grown", () => {
    const all = paidBy([]);
    const amountsOf = (...seen: Parameters<typeof newsOf>) =>
      paymentsOf(newsOf(...seen)).map(({ amount }) => amount);
    assert.deepEqual(amountsOf([funded, all], [funded, paidBy([payment(1, "100")])]), ["100"]);
    const twoLogs = paidBy([payment(1, "60"), payment(2, "40")]);
    assert.deepEqual(amountsOf([funded, all], [funded, twoLogs]), ["100"]);
    const more = statusOf({ state: "funded", balance: "130" });
    const both = paidBy([payment(1, "100"), payment(2, "30")]);
    assert.deepEqual(amountsOf([funded, all], [more, both]), ["100", "30"]);
    const again = statusOf({ state: "funded", balance: "230" });
    assert.deepEqual(amountsOf([funded, all], [more, both], [again, both]), ["100", "30", "100"]);
  });

  test("reports a second payment of the same amount and a payment in another token", () => {
    const twice = statusOf({ state: "funded", balance: "200" });
    const seen = newsOf([funded, paidBy([])], [twice, paidBy([payment(1, "100")])]);
    assert.deepEqual(
      paymentsOf(seen).flatMap(({ transactionHash }) => transactionHash ?? []),
      [hash(1)],
    );
    const other = { ...payment(1, "100"), token: `0x${"b".repeat(40)}` as const };
    const odd = newsOf([funded, paidBy([])], [funded, paidBy([other])]);
    assert.equal(paymentsOf(odd.slice(-1))[0]?.kind, "other_token");
  });
});
