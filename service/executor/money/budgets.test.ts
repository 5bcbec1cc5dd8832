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

describe("the budget for costs that tips do not cover", () => {
  const tipped = (accountId: string) => payer(accountId, { isTipped: true });

  test("allows an account's whole budget even if the chain's budget is 0", () => {
    const budgets = open({ perDayMax: 0n });
    assert.equal(budgets.refusal(tipped("a"), 50n), undefined);
    budgets.reserve(tipped("a"), 50n);
    assert.equal(budgets.refusal(tipped("a"), 1n), "failed_tips_budget_spent");
  });

  test("limits the total cost of all accounts per day", () => {
    const budgets = open({});
    for (const accountId of ["a", "b"]) budgets.reserve(tipped(accountId), 50n);
    assert.equal(budgets.refusal(tipped("c"), 1n), "failed_tips_budget_spent");
    assert.equal(budgets.fork().refusal(tipped("c"), 1n), "failed_tips_budget_spent");
    assert.equal(
      budgets.refusal(payer("c"), 50n),
      undefined,
      "insufficient tips do not use the other budgets",
    );
  });

  test("is reduced by settled transactions", () => {
    const spent = { total: 60n, client: 0n, tips: 60n };
    const limits = { perDayMax: 100n, perAccountMax: 60n, perClientMax: 10n };
    const budgets = openBudgets(limits, { total: 60n, accounts: new Map([["a", spent]]) });
    assert.equal(budgets.refusal(tipped("b"), 40n), undefined);
    assert.equal(budgets.refusal(tipped("b"), 41n), "failed_tips_budget_spent");
  });
});

describe("a transaction that may use only half of each budget", () => {
  test("is refused if it would bring the day's spending above half of a budget", () => {
    const half = 2n;
    const budgets = open({});
    assert.equal(budgets.refusal(payer("a"), 25n, half), undefined);
    assert.equal(budgets.refusal(payer("a"), 26n, half), "account_budget_spent");
    const byClientId = payer("a", { isClientId: true });
    assert.equal(budgets.refusal(byClientId, 5n, half), undefined);
    assert.equal(budgets.refusal(byClientId, 6n, half), "client_id_budget_spent");
    budgets.reserve(payer("a"), 20n);
    assert.equal(budgets.refusal(payer("a"), 6n, half), "account_budget_spent");
    budgets.reserve(payer("b"), 30n);
    assert.equal(budgets.refusal(payer("c"), 1n, half), "budget_spent");
    assert.equal(budgets.refusal(payer("c"), 1n), undefined);
  });
});

describe("the cost of a transaction", () => {
  const share = (n: number, of: Payer) => ({ ...of, address: `0x0${n}` as Hex, gas: 1 });

  test("is refused if the budget of one account does not cover the account's share", () => {
    const shares = [share(1, payer("a")), share(2, payer("b"))];
    const budgets = open({});
    budgets.reserve(payer("b"), 41n);
    assert.equal(findBudgetRefusal(budgets, shares, 18n), undefined);
    assert.equal(findBudgetRefusal(budgets, shares, 20n), "account_budget_spent");
  });

  test("is refused if the addresses of one client ID together exceed its budget", () => {
    const mine = payer("a", { isClientId: true });
    assert.equal(findBudgetRefusal(open({}), [share(1, mine), share(2, mine)], 10n), undefined);
    const reason = findBudgetRefusal(open({}), [share(1, mine), share(2, mine)], 11n);
    assert.equal(reason, "client_id_budget_spent");
  });

  test("is limited only by the chain's budget if no address shares the cost", () => {
    const budgets = open({});
    assert.equal(findBudgetRefusal(budgets, [], 100n), undefined);
    assert.equal(findBudgetRefusal(budgets, [], 101n), "budget_spent");
    budgets.reserveForChain(200n);
    assert.equal(findBudgetRefusal(budgets, [], 0n), undefined);
    assert.equal(findBudgetRefusal(budgets, [share(1, payer("a"))], -5n), undefined);
  });
});
