import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { type BudgetLimits, findBudgetRefusal, openBudgets, type Payer } from "./budgets.ts";

const payer = (accountId: string, more: Partial<Payer> = {}): Payer => ({
  accountId,
  isClientId: false,
  isTipped: false,
  ...more,
});
const open = (limits: Partial<BudgetLimits>) =>
  openBudgets(
    { perDayMax: 100n, perAccountMax: 50n, perClientMax: 10n, ...limits },
    { total: 0n, accounts: new Map() },
  );

describe("tips that fall short", () => {
  const tipped = (accountId: string) => payer(accountId, { isTipped: true });

  test("are bounded for an account, whatever the chain's day has left", () => {
    const budgets = open({ perDayMax: 0n });
    assert.equal(budgets.refusal(tipped("a"), 50n), undefined);
    budgets.reserve(tipped("a"), 50n);
    assert.equal(budgets.refusal(tipped("a"), 1n), "failed_tips_budget_spent");
  });

  test("are bounded for all accounts together by the chain's day", () => {
    const budgets = open({});
    for (const accountId of ["a", "b"]) budgets.reserve(tipped(accountId), 50n);
    assert.equal(budgets.refusal(tipped("c"), 1n), "failed_tips_budget_spent");
    assert.equal(budgets.fork().refusal(tipped("c"), 1n), "failed_tips_budget_spent");
    assert.equal(budgets.refusal(payer("c"), 50n), undefined, "they take nothing of the budgets");
  });

  test("count as they were settled", () => {
    const spent = { total: 60n, client: 0n, tips: 60n };
    const limits = { perDayMax: 100n, perAccountMax: 60n, perClientMax: 10n };
    const budgets = openBudgets(limits, { total: 60n, accounts: new Map([["a", spent]]) });
    assert.equal(budgets.refusal(tipped("b"), 40n), undefined);
    assert.equal(budgets.refusal(tipped("b"), 41n), "failed_tips_budget_spent");
  });
});

describe("what several share", () => {
  const share = (n: number, of: Payer) => ({ ...of, address: `0x0${n}` as Hex, gas: 1 });

  test("is refused where one of them has too little left for its part", () => {
    const shares = [share(1, payer("a")), share(2, payer("b"))];
    const budgets = open({});
    budgets.reserve(payer("b"), 41n);
    assert.equal(findBudgetRefusal(budgets, shares, 18n), undefined);
    assert.equal(findBudgetRefusal(budgets, shares, 20n), "account_budget_spent");
  });

  test("is refused by what all parts of an account or a client ID are together", () => {
    const mine = payer("a", { isClientId: true });
    assert.equal(findBudgetRefusal(open({}), [share(1, mine), share(2, mine)], 10n), undefined);
    const reason = findBudgetRefusal(open({}), [share(1, mine), share(2, mine)], 11n);
    assert.equal(reason, "client_id_budget_spent");
  });

  test("is the chain's where it is for no address, and never refused where it takes less", () => {
    const budgets = open({});
    assert.equal(findBudgetRefusal(budgets, [], 100n), undefined);
    assert.equal(findBudgetRefusal(budgets, [], 101n), "budget_spent");
    budgets.reserveForChain(200n);
    assert.equal(findBudgetRefusal(budgets, [], 0n), undefined);
    assert.equal(findBudgetRefusal(budgets, [share(1, payer("a"))], -5n), undefined);
  });
});
