// Reads what gas was paid: for an account's owner, and as the operator's report of all accounts.

import type { Kysely } from "kysely";
import { dateOf } from "../../flow/days.ts";
import type { Tables } from "../../store/tables.ts";

/** A month of one chain, or less of several. */
const rowsMax = 31;

/** Newest first, the last 31 of days and chains on which there was any, in wei, decimal. */
export async function findAccountGas(db: Kysely<Tables>, accountId: string) {
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
    gasWei: row.gas_wei,
    tipsWei: row.tips_wei,
    wei: row.wei,
    clientIdWei: row.client_wei,
    failedTipsWei: row.tip_loss_wei,
  }));
}

/** Profit and loss of every day, chain and account; an account of "" is the executor's own. */
export async function readReport(db: Kysely<Tables>) {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .orderBy("day")
    .orderBy("chain_id")
    .orderBy("account_id")
    .execute();
  return rows.map((row) => ({
    day: dateOf(row.day),
    chainId: row.chain_id,
    accountId: row.account_id,
    gasWei: row.gas_wei,
    tipsWei: row.tips_wei,
    notCoveredWei: row.wei,
  }));
}

/** RFC 4180; no field of a report holds a comma or a quote. */
export function csvOf(rows: Awaited<ReturnType<typeof readReport>>): string {
  const head = ["day", "chainId", "accountId", "gasWei", "tipsWei", "notCoveredWei"] as const;
  const lines = rows.map((row) => head.map((name) => row[name]).join(","));
  return `${[head.join(","), ...lines].join("\r\n")}\r\n`;
}
