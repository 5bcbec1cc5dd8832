// Limits the gas costs per day, by block time. There is a limit for the chain and a limit for each
// account. Anyone can copy an account's client ID from a web page. Therefore, a separate limit
// applies to addresses created with a client ID. A transaction's highest possible cost is reserved
// until the actual cost is charged. Therefore, no budget is ever exceeded.
//
// An execution with a sufficient tip is sent even if these budgets are spent, because its tip pays
// for the gas. If the tip does not cover the execution's actual cost, the rest is a loss. Losses
// have separate daily limits. The limit for an account is the amount of its budget. The limit for
// the chain is its budget or, if higher, the budget per account. With a budget per account,
// executions with tips are possible even if the chain's budget is 0.

import type { Hex } from "executable-address";
import { max } from "../../flow/numbers.ts";

/** The account that created an address. `isTipped` is true if the intent's tip pays for the gas. */
export type Payer = { accountId: string; isClientId: boolean; isTipped: boolean };

/** The limits in wei per day. */
export type BudgetLimits = { perDayMax: bigint; perAccountMax: bigint; perClientMax: bigint };

/**
 * Wei spent or reserved for an account on a day. `client` is the part for addresses that were
 * created with the account's client ID. `tips` is the loss from executions with tips. `total`
 * includes a loss only after the loss is charged.
 */
export type AccountSpending = { total: bigint; client: bigint; tips: bigint };

type BudgetReason =
  | "budget_spent"
  | "account_budget_spent"
  | "client_id_budget_spent"
  | "failed_tips_budget_spent";

export type Budgets = {
  /**
   * Returns why `payer` must not spend another `cost` wei, or undefined if spending is allowed.
   * @param part the number by which each budget is divided. For example, with 2, the spending must
   *   stay within half of each budget. The limits on losses from tips are not divided
   */
  refusal(payer: Payer, cost: bigint, part?: bigint): BudgetReason | undefined;
  /** Reserves a payer's share of a transaction's cost. */
  reserve(payer: Payer, cost: bigint): void;
  /** Reserves a cost that no account pays, such as filling a nonce gap. */
  reserveForChain(cost: bigint): void;
  /** Returns the rest of the chain's budget, in wei. */
  left(): bigint;
  /** Returns a copy of the budgets, in which a caller can make trial reservations. */
  fork(): Budgets;
};

export const noSpending: AccountSpending = { total: 0n, client: 0n, tips: 0n };

type Spent = { total: bigint; accounts: ReadonlyMap<string, AccountSpending> };

/** @param spent the costs that were charged today */
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
 * Reserves each payer's share of a transaction's cost. If there are no payers, reserves the cost
 * only in the chain's budget.
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
 * Returns why the budgets do not cover an additional cost of `cost` wei, or undefined if they do.
 * Each payer's budget must cover the payer's share. Without payers, the chain's budget must cover
 * the cost.
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
 * Splits a cost among addresses in proportion to their gas. The sum of the shares is exactly
 * `whole`.
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
