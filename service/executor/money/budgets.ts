// Limits how much the executor pays for gas per day, by the chain's clock. There is a limit for the
// chain and a limit for each account. Addresses that are created with an account's client ID have
// an additional limit, because anyone who sees a page with the client ID can use it. Before a
// transaction is sent, its highest possible cost is reserved. The reservation lasts until the
// transaction is settled, so no budget is ever exceeded.
//
// An execution with a tip is charged only for the cost that the tip does not cover, and is sent
// even if these budgets are spent. The uncovered cost is a loss, and losses have separate daily
// limits. The limit on an account's losses is as high as the account's budget. The limit on all
// losses together is as high as the chain's budget or an account's budget, whichever is higher. A
// chain that sponsors nothing can therefore work with tips only.

import type { Hex } from "executable-address";
import { max } from "./fees.ts";

/** The account that created an address, and whether the intent's tip pays for the gas. */
export type Payer = { accountId: string; isClientId: boolean; isTipped: boolean };

/** The limits in wei per day. */
export type BudgetLimits = { perDayMax: bigint; perAccountMax: bigint; perClientMax: bigint };

/**
 * Wei spent or reserved for an account on a day. `client` is the part for addresses that were
 * created with the account's client ID. `tips` is the part of the cost of tipped executions that
 * the tips do not cover. A cost in `tips` is also part of `total` after settlement, but not while
 * the cost is only reserved.
 */
export type AccountSpending = { total: bigint; client: bigint; tips: bigint };

type BudgetReason =
  | "budget_spent"
  | "account_budget_spent"
  | "client_id_budget_spent"
  | "failed_tips_budget_spent";

export type Budgets = {
  /**
   * Returns the reason why `payer` cannot spend `cost` more wei, or undefined if it can.
   * @param part the divisor of each budget: 2 means that only half of a budget can be spent
   */
  refusal(payer: Payer, cost: bigint, part?: bigint): BudgetReason | undefined;
  /** Reserves `payer`'s share of a transaction's cost. */
  reserve(payer: Payer, cost: bigint): void;
  /** Reserves a cost that belongs to no account, such as filling a gap in the nonces. */
  reserveForChain(cost: bigint): void;
  /** Returns how much of the chain's budget is left, in wei. */
  left(): bigint;
  /** Returns a copy for trial reservations. */
  fork(): Budgets;
};

export const noSpending: AccountSpending = { total: 0n, client: 0n, tips: 0n };

type Spent = { total: bigint; accounts: ReadonlyMap<string, AccountSpending> };

/** @param spent the settled costs of the day */
export function openBudgets(limits: BudgetLimits, spent: Spent): Budgets {
  let { total } = spent;
  const accounts = new Map([...spent.accounts].map(([id, each]) => [id, { ...each }]));
  const { perDayMax, perAccountMax, perClientMax } = limits;
  const tipsMax = max(perDayMax, perAccountMax);
  let tips = [...accounts.values()].reduce((sum, account) => sum + account.tips, 0n);
  const of = ({ accountId }: Payer): AccountSpending => {
    const known = accounts.get(accountId) ?? { ...noSpending };
    accounts.set(accountId, known);
    return known;
  };
  return {
    refusal(payer, cost, part = 1n) {
      const account = of(payer);
      if (payer.isTipped) {
        const isTooMuch = account.tips + cost > perAccountMax || tips + cost > tipsMax;
        return isTooMuch ? "failed_tips_budget_spent" : undefined;
      }
      const isTooMuch = (wei: bigint, limit: bigint) => (wei + cost) * part > limit;
      if (payer.isClientId && isTooMuch(account.client, perClientMax)) {
        return "client_id_budget_spent";
      }
      if (isTooMuch(account.total, perAccountMax)) return "account_budget_spent";
      if (isTooMuch(total, perDayMax)) return "budget_spent";
      return undefined;
    },
    reserve(payer, cost) {
      const account = of(payer);
      if (payer.isTipped) {
        account.tips += cost;
        tips += cost;
        return;
      }
      total += cost;
      account.total += cost;
      if (payer.isClientId) account.client += cost;
    },
    reserveForChain(cost) {
      total += cost;
    },
    left: () => (total < perDayMax ? perDayMax - total : 0n),
    fork: () => openBudgets(limits, { total, accounts }),
  };
}

/**
 * Reserves a transaction's cost in its payers' budgets, or in the chain's budget if the transaction
 * has no payers.
 */
export function reserveFor(
  budgets: Budgets,
  shares: readonly (Payer & { address: Hex; gas: number })[],
  cost: bigint,
): void {
  if (shares.length === 0) budgets.reserveForChain(cost);
  const parts = divideCost(cost, shares);
  for (const share of shares) budgets.reserve(share, parts.get(share.address)!);
}

/**
 * Returns the reason why a transaction's cost cannot increase by `cost` wei, or undefined if it
 * can. Each payer's budget has to cover the payer's share. If there are no payers, the chain's
 * budget has to cover the cost.
 */
export function findBudgetRefusal(
  budgets: Budgets,
  shares: readonly (Payer & { address: Hex; gas: number })[],
  cost: bigint,
): BudgetReason | undefined {
  if (cost <= 0n) return undefined;
  if (shares.length === 0) return cost > budgets.left() ? "budget_spent" : undefined;
  const trial = budgets.fork();
  const parts = divideCost(cost, shares);
  for (const share of shares) {
    const part = parts.get(share.address)!;
    const reason = trial.refusal(share, part);
    if (reason) return reason;
    trial.reserve(share, part);
  }
  return undefined;
}

/**
 * Splits a cost among addresses in proportion to their gas. The shares add up to exactly `whole`.
 */
export function divideCost(
  whole: bigint,
  addresses: readonly { address: Hex; gas: number }[],
): Map<Hex, bigint> {
  const gas = addresses.reduce((sum, each) => sum + BigInt(each.gas), 0n);
  const shares = new Map<Hex, bigint>();
  let left = whole;
  addresses.forEach((each, index) => {
    const isLast = index === addresses.length - 1;
    const share = isLast || gas === 0n ? left : (whole * BigInt(each.gas)) / gas;
    shares.set(each.address, share);
    left -= share;
  });
  return shares;
}
