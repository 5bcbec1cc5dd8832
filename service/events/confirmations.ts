// The number of confirmations that an account requires on a chain before its events are reported.

import { type Kysely, type RawBuilder, sql } from "kysely";
import { confirmationsDefault } from "../chain/chains.ts";
import type { Tables } from "../store/tables.ts";

/**
 * The maximum number of confirmations that an account can require. Nodes usually keep only the
 * states of the newest 128 blocks.
 */
export const confirmationsMax = 100;

/**
 * Sets how many confirmations a block needs before the account's events on this chain are reported.
 *
 * @param confirmations at most {@link confirmationsMax}; null for the chain's default
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

/** Returns SQL for the number of confirmations that the account requires on the chain. */
export const selectConfirmations = (
  account: RawBuilder<unknown>,
  chainId: number | RawBuilder<unknown>,
) => sql<number>`coalesce(
  (select confirmations from event_confirmations
    where account_id = ${account} and chain_id = ${chainId}),
  (select confirmations from event_chains where chain_id = ${chainId}),
  ${sql.raw(String(confirmationsDefault))})`;
