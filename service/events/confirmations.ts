// The number of confirmations before an account receives an event, chosen by the account or the
// chain.

import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "../store/tables.ts";

/** The default number of confirmations, if neither the account nor the chain sets it. */
const confirmationsDefault = 12;

/**
 * The number of confirmations that an account wants for a chain. @param confirmations null: the
 * chain's
 */
export async function setConfirmations(
  db: Kysely<Tables>,
  accountId: string,
  chainId: number,
  confirmations: number | null,
): Promise<void> {
  if (confirmations === null) {
    await db
      .deleteFrom("event_confirmations")
      .where("account_id", "=", accountId)
      .where("chain_id", "=", chainId)
      .execute();
    return;
  }
  await db
    .insertInto("event_confirmations")
    .values({ account_id: accountId, chain_id: chainId, confirmations })
    .onConflict((conflict) =>
      conflict.columns(["account_id", "chain_id"]).doUpdateSet({ confirmations }),
    )
    .execute();
}

export async function listConfirmations(
  db: Kysely<Tables>,
  accountId: string,
): Promise<{ chainId: number; confirmations: number }[]> {
  const rows = await db
    .selectFrom("event_confirmations")
    .select(["chain_id", "confirmations"])
    .where("account_id", "=", accountId)
    .orderBy("chain_id")
    .execute();
  return rows.map(({ chain_id, confirmations }) => ({ chainId: chain_id, confirmations }));
}

/** Returns SQL for the number of confirmations that an account wants for a chain. */
export const confirmationsOf = (
  account: RawBuilder<unknown>,
  chainId: number,
) => sql<number>`coalesce(
  (select confirmations from event_confirmations
    where account_id = ${account} and chain_id = ${chainId}),
  (select confirmations from event_chains where chain_id = ${chainId}),
  ${sql.raw(String(confirmationsDefault))})`;
