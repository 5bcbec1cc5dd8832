// Locks the rows of endpoints. Every transaction that changes deliveries first locks the rows of
// the deliveries' endpoints.

import { PostgresAdapter, sql, type Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/**
 * Locks the endpoints' rows until the commit, so that a held delivery is released exactly once.
 * Locks the rows in the order of their IDs, so that transactions cannot deadlock. On SQLite, only
 * reads the rows, because a transaction locks the whole database when it begins.
 */
export async function lockEndpoints(transaction: Transaction<Tables>, ids: readonly string[]) {
  const rows = transaction
    .selectFrom("webhook_endpoints")
    .select(["id", "account_id", "url", "secret", "old_secret", "old_until", "state", "reason"])
    .select(["failing_since", "lane", "streak", "barred_until"])
    .where("id", "in", ids)
    .orderBy("id");
  const { adapter } = transaction.getExecutor();
  return (adapter instanceof PostgresAdapter ? rows.forUpdate() : rows).execute();
}

/**
 * Returns SQL for the time at which an endpoint is due again after its turn. The time is never in
 * the past, regardless of how long the endpoint's deliveries have waited. Endpoints are served in
 * the order of these times. So each endpoint gets its turn, even if many deliveries of other
 * endpoints are waiting.
 */
export const nextTurn = (nowMs: number) =>
  sql<number | null>`(select case when min(due_at) < ${nowMs} then ${nowMs} else min(due_at) end
    from webhook_deliveries
    where endpoint_id = webhook_endpoints.id and webhook_deliveries.state = 'waiting')`;

/**
 * Records that each endpoint has a due delivery now. An endpoint that already had a due delivery
 * keeps its place in the order.
 */
export async function awaitTurn(
  transaction: Transaction<Tables>,
  ids: readonly string[],
  nowMs: number,
): Promise<void> {
  await transaction
    .updateTable("webhook_endpoints")
    .set({ next_due: nowMs })
    .where("id", "in", ids)
    .where((eb) => eb.or([eb("next_due", "is", null), eb("next_due", ">", nowMs)]))
    .execute();
}
