// Limits the gas costs per day, by block time. There is a limit for the chain and a limit for each
// account. A separate limit applies to addresses that are created with an account's client ID,
// because anyone can copy the client ID from a web page. The highest possible cost of a transaction
// is reserved until the actual cost is charged, so no budget is ever exceeded.
//
// An execution with a sufficient tip is sent even if these budgets are spent. If the tip does not
// cover the execution's actual cost, the rest is a loss. Losses have separate daily limits. An
// account's losses are limited to the amount of its budget. The losses of all accounts together are
// limited to the chain's budget or an account's budget, whichever is higher. So tips also work on a
// chain whose budget is 0, if accounts have a budget.

import type { Hex } from "executable-address";
import { max } from "./fees.ts";

/** The account that created an address, and whether the intent's tip pays for the gas. */
export type Payer = { accountId: string; isClientId: boolean; isTipped: boolean };

/** The limits in wei per day. */
export type BudgetLimits = { perDayMax: bigint; perAccountMax: bigint; perClientMax: bigint };

/**
 * Wei spent or reserved for an account on a day. `client` is the part for addresses that were
 * created with the account's client ID. `tips` contains the losses from tipped executions. `total`
 * includes the charged losses, but not the reserved ones.
 */
export type AccountSpending = { total: bigint; client: bigint; tips: bigint };

type BudgetReason =
  | "budget_spent"
  | "account_budget_spent"
  | "client_id_budget_spent"
  | "failed_tips_budget_spent";

export type Budgets = {
  /**
   * Returns the reason why `payer` cannot spend another `cost` wei, or undefined if it can.
   * @param part divides each budget: 2 means that the spending must stay within half of each
   *   budget. The limits on losses are not divided.
   */
  refusal(payer: Payer, cost: bigint, part?: bigint): BudgetReason | undefined;
  /** Reserves a payer's share of a transaction's cost. */
  reserve(payer: Payer, cost: bigint): void;
  /** Reserves a cost that no account pays, such as closing a nonce gap. */
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
 * Reserves a transaction's cost in the payers' budgets, or in the chain's budget if there are no
 * payers.
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
 * Returns the reason why the budgets do not allow another `cost` wei for a transaction, or
 * undefined if they do. Each payer's budget must cover the payer's share. Without payers, the
 * chain's budget must cover the cost.
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
