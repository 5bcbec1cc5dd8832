// Lists an account's own events, and says how long they are kept.

import type { EventType } from "executable-address/webhook";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

export const eventsKeptMs = 30 * 86_400_000;

export type EventQuery = {
  accountId: string;
  /** The position that was read last; 0 for the oldest kept. */
  after: number;
  limit: number;
  /** All where there are none. */
  types?: readonly EventType[] | undefined;
};

/** Positions that one page of some types looks through. */
const scannedMax = 1_000;

/**
 * Oldest first. `body` is the very text that webhooks carry. With `types` of the next 1,000 events:
 * `until` is the position of the last of these, and undefined where there are fewer.
 */
export async function listEvents(
  db: Kysely<Tables>,
  { accountId, after, limit, types = [] }: EventQuery,
): Promise<{ rows: { position: number; body: string }[]; until?: number | undefined }> {
  const following = db
    .selectFrom("events")
    .where("account_id", "=", accountId)
    .where("position", ">", after)
    .orderBy("position");
  const page = following.select(["position", "body"]).limit(limit);
  if (types.length === 0) return { rows: await page.execute() };
  const last = await following
    .select("position")
    .limit(1)
    .offset(scannedMax - 1)
    .executeTakeFirst();
  const rows = await page
    .where("type", "in", types)
    .$if(last !== undefined, (query) => query.where("position", "<=", last!.position))
    .execute();
  return { rows, until: last?.position };
}

/** The body of one event; undefined where the account has none of this id, or no longer. */
export async function findEvent(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("events")
    .select("body")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return row?.body;
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
