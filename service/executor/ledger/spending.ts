// Counts what was paid for gas and received in tips, by chain, account and day of the chain's
// clock, as settled receipts say it. A reorganisation takes back what it undid.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { type AccountSpending, noSpending, type Payer } from "../money/budgets.ts";

/** An address of a settled purpose has its part of what was paid, and its tips' worth, in wei. */
export type Charge = Payer & { wei: bigint; tipsWei: bigint };

/** Costs that no address caused, such as filling a gap in the nonces, stand under no account. */
export const noAccount = "";

/** An account's row of a day, in wei. `gas` and `earned` are all that was paid and received. */
type AccountDay = AccountSpending & { gas: bigint; earned: bigint };

const nothing: AccountDay = { ...noSpending, gas: 0n, earned: 0n };

/** Wei charged to the chain's budget on a day, counted from the epoch by the chain's clock. */
export async function readSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<bigint> {
  const row = await db
    .selectFrom("executor_spending")
    .select("wei")
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .executeTakeFirst();
  return BigInt(row?.wei ?? 0);
}

/** Reads the wei of each account on a day. */
export async function readAccountSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<Map<string, AccountDay>> {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .execute();
  return new Map(
    rows.map((row) => [
      row.account_id,
      {
        total: BigInt(row.wei),
        client: BigInt(row.client_wei),
        tips: BigInt(row.tip_loss_wei),
        gas: BigInt(row.gas_wei),
        earned: BigInt(row.tips_wei),
      },
    ]),
  );
}

/**
 * Charges each account for what its addresses cost and their tips did not cover, and the chain for
 * the sum.
 * @param sign -1 takes back what was charged
 */
export async function charge(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  charges: readonly Charge[],
  sign: 1n | -1n,
): Promise<void> {
  const accounts = await readAccountSpending(transaction, chainId, day);
  const changed = new Map<string, AccountDay>();
  let total = 0n;
  for (const { accountId, isClientId, isTipped, wei, tipsWei } of charges) {
    const account = changed.get(accountId) ?? { ...(accounts.get(accountId) ?? nothing) };
    changed.set(accountId, account);
    const uncovered = sign * (wei > tipsWei ? wei - tipsWei : 0n);
    account.gas += sign * wei;
    account.earned += sign * tipsWei;
    account.total += uncovered;
    if (isClientId) account.client += uncovered;
    if (isTipped) account.tips += uncovered;
    total += uncovered;
  }
  await saveSpending(transaction, chainId, day, total);
  for (const [accountId, account] of changed) {
    await saveAccountDay(transaction, chainId, day, accountId, account);
  }
}

async function saveSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  more: bigint,
): Promise<void> {
  const wei = ((await readSpending(transaction, chainId, day)) + more).toString();
  await transaction
    .insertInto("executor_spending")
    .values({ chain_id: chainId, day, wei })
    .onConflict((conflict) => conflict.columns(["chain_id", "day"]).doUpdateSet({ wei }))
    .execute();
}

async function saveAccountDay(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  accountId: string,
  { total, client, tips, gas, earned }: AccountDay,
): Promise<void> {
  const sums = {
    wei: total.toString(),
    client_wei: client.toString(),
    tip_loss_wei: tips.toString(),
    gas_wei: gas.toString(),
    tips_wei: earned.toString(),
  };
  await transaction
    .insertInto("executor_account_spending")
    .values({ chain_id: chainId, day, account_id: accountId, ...sums })
    .onConflict((conflict) => conflict.columns(["chain_id", "day", "account_id"]).doUpdateSet(sums))
    .execute();
}
