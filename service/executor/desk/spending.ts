// What gas was paid for an account, as its owner reads it.

import type { Kysely } from "kysely";
import type { Tables } from "../../store/tables.ts";

/**
 * On one day of a chain's clock, of settled transactions. Wei, decimal: all that counts against
 * the account's budget, of it for what its client ID created, and besides for tips that failed.
 */
type AccountGas = {
  chainId: number;
  /** Such as `2026-11-22`. */
  day: string;
  wei: string;
  clientIdWei: string;
  failedTipsWei: string;
};

/** A month of one chain, or less of several. */
const rowsMax = 31;

/** Newest first, the last 31 of days and chains on which there was any. */
export async function findAccountGas(db: Kysely<Tables>, accountId: string): Promise<AccountGas[]> {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("account_id", "=", accountId)
    .orderBy("day", "desc")
    .orderBy("chain_id")
    .limit(rowsMax)
    .execute();
  return rows.map((row) => ({
    chainId: row.chain_id,
    day: dateOf(row.day),
    wei: row.wei,
    clientIdWei: row.client_wei,
    failedTipsWei: row.tip_loss_wei,
  }));
}

/** @param day counted from the epoch */
export const dateOf = (day: number): string =>
  new Date(day * 86_400_000).toISOString().slice(0, 10);
