// Lists the deliveries to an endpoint with their attempts, and deletes old deliveries.

import { type Kysely, sql } from "kysely";
import { eventRetentionMs, otherChainOf } from "../../events/list.ts";
import { prune } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";

/**
 * The number of deliveries that accounts and operators can see for each endpoint. The newest
 * deliveries are shown.
 */
export const deliveriesShown = 50;

/** Lists an endpoint's deliveries, newest first, each with its attempts. */
export async function listDeliveries(db: Kysely<Tables>, endpointId: string, limit: number) {
  const rows = await db
    .selectFrom("webhook_deliveries")
    .select(["id", "event_id", "type", "state", "due_at", "created_at"])
    .select(otherChainOf(sql`webhook_deliveries.event_id`).as("other_chain_id"))
    .where("endpoint_id", "=", endpointId)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
  const ids = rows.map(({ id }) => id);
  const attempts =
    ids.length === 0
      ? []
      : await db
          .selectFrom("webhook_attempts")
          .selectAll()
          .where("delivery_id", "in", ids)
          .orderBy("number")
          .execute();
  return rows.map((row) => ({
    id: row.id,
    eventId: row.event_id,
    type: row.type,
    otherChainId: row.other_chain_id === null ? null : Number(row.other_chain_id),
    state: row.state,
    dueAtMs: row.due_at,
    createdAtMs: row.created_at,
    attempts: attempts
      .filter((attempt) => attempt.delivery_id === row.id)
      .map(({ at, status, latency_ms, answer }) => ({
        ...{ atMs: at, status, latencyMs: latency_ms, answer },
      })),
  }));
}

/**
 * Deletes deliveries that are older than {@link eventRetentionMs}, including deliveries to removed
 * endpoints.
 */
export const pruneDeliveries = (db: Kysely<Tables>, nowMs: number): Promise<number> =>
  prune({
    find: (limit) =>
      db
        .selectFrom("webhook_deliveries")
        .select("id")
        .where("created_at", "<", nowMs - eventRetentionMs)
        .orderBy("created_at")
        .limit(limit)
        .execute(),
    async remove(ids) {
      await db.deleteFrom("webhook_attempts").where("delivery_id", "in", ids).execute();
      await db.deleteFrom("webhook_deliveries").where("id", "in", ids).execute();
    },
  });
