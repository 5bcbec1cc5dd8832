// Bounds what the executor spends on gas in a day of the chain's clock: for the chain, for an
// account, and for what was created with an account's client ID, which anybody who sees its page
// can use. A transaction counts at its cap from before it is sent until it is settled, so no budget
// is ever exceeded, whatever the chain charges in the end.
//
// An execution that pays a tip counts against them as far as its tip did not cover what it took on
// chain. It is sent whatever they say, until in the day the tips of its account fell short by as
// much as the account's budget, or those of all accounts by as much as the greater of the chain's
// and the account's: a chain that sponsors nothing may still live by tips.

import type { Hex } from "executable-address";

/** For whom an address was created, and whether its own tip pays. */
export type Payer = { accountId: string; isClientId: boolean; isTipped: boolean };

/** Wei a day. */
export type BudgetLimits = { perDayMax: bigint; perAccountMax: bigint; perClientMax: bigint };

/**
 * Wei spent or reserved for an account on a day. `client`: of it, by what its client ID created;
 * `tips`: what tipped executions took or may take that tips do not cover. What they took is part of
 * the total, what they may take is not.
 */
export type AccountSpending = { total: bigint; client: bigint; tips: bigint };

type BudgetReason =
  | "budget_spent"
  | "account_budget_spent"
  | "client_id_budget_spent"
  | "failed_tips_budget_spent";

export type Budgets = {
  /** Why `cost` wei more are too much for `payer`; undefined: they are not. */
  refusal(payer: Payer, cost: bigint): BudgetReason | undefined;
  /** Counts what is, or is about to be, sent. */
  reserve(payer: Payer, cost: bigint): void;
  /** Counts what fills a gap in the nonces, which belongs to no account. */
  reserveForChain(cost: bigint): void;
  /** Wei that the chain's budget has left. */
  left(): bigint;
  /** The same budgets, to try things out. */
  fork(): Budgets;
};

export const noSpending: AccountSpending = { total: 0n, client: 0n, tips: 0n };

type Spent = { total: bigint; accounts: ReadonlyMap<string, AccountSpending> };

/** @param spent on this day, as settled */
export function openBudgets(limits: BudgetLimits, spent: Spent): Budgets {
  let { total } = spent;
  const accounts = new Map([...spent.accounts].map(([id, each]) => [id, { ...each }]));
  const { perDayMax, perAccountMax, perClientMax } = limits;
  const tipsMax = perDayMax > perAccountMax ? perDayMax : perAccountMax;
  let tips = [...accounts.values()].reduce((sum, account) => sum + account.tips, 0n);
  const of = ({ accountId }: Payer): AccountSpending => {
    const known = accounts.get(accountId) ?? { ...noSpending };
    accounts.set(accountId, known);
    return known;
  };
  return {
    refusal(payer, cost) {
      const account = of(payer);
      if (payer.isTipped) {
        const isTooMuch = account.tips + cost > perAccountMax || tips + cost > tipsMax;
        return isTooMuch ? "failed_tips_budget_spent" : undefined;
      }
      if (payer.isClientId && account.client + cost > perClientMax) return "client_id_budget_spent";
      if (account.total + cost > perAccountMax) return "account_budget_spent";
      if (total + cost > perDayMax) return "budget_spent";
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

/** Counts what a purpose may take for each of its payers; without any it is the chain's own. */
export function reserveFor(
  budgets: Budgets,
  shares: readonly (Payer & { address: Hex; gas: number })[],
  cost: bigint,
): void {
  if (shares.length === 0) budgets.reserveForChain(cost);
  const parts = shareOut(cost, shares);
  for (const share of shares) budgets.reserve(share, parts.get(share.address)!);
}

/**
 * Why `cost` wei more are too much for one of a purpose's payers, or for the chain where it has
 * none; undefined: they are not, as where it takes less than before.
 */
export function refusalOf(
  budgets: Budgets,
  shares: readonly (Payer & { address: Hex; gas: number })[],
  cost: bigint,
): BudgetReason | undefined {
  if (cost <= 0n) return undefined;
  if (shares.length === 0) return cost > budgets.left() ? "budget_spent" : undefined;
  const trial = budgets.fork();
  const parts = shareOut(cost, shares);
  for (const share of shares) {
    const part = parts.get(share.address)!;
    const reason = trial.refusal(share, part);
    if (reason) return reason;
    trial.reserve(share, part);
  }
  return undefined;
}

/** Divides what a purpose took among its addresses: the parts sum to the whole, to the wei. */
export function shareOut(
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
