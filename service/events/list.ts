// What an account reads of its own events, and how long they are kept.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

export const eventsKeptMs = 30 * 86_400_000;

export type EventQuery = {
  accountId: string;
  /** The position that was read last; 0 for the oldest kept. */
  after: number;
  limit: number;
};

/** Oldest first. `body` is the very text that webhooks carry. */
export async function listEvents(
  db: Kysely<Tables>,
  { accountId, after, limit }: EventQuery,
): Promise<{ position: number; body: string }[]> {
  return db
    .selectFrom("events")
    .select(["position", "body"])
    .where("account_id", "=", accountId)
    .where("position", ">", after)
    .orderBy("position")
    .limit(limit)
    .execute();
}

/** How deep an account wants what it is told of a chain. @param confirmations null: the chain's */
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
