// Locks the rows of endpoints. A transaction must lock the rows of endpoints before it changes
// their deliveries.

import { PostgresAdapter, sql, type Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/**
 * Locks the rows of endpoints until the commit, and returns the rows. Without the lock, two
 * transactions could release the same `held` delivery. The rows are locked in the order of their
 * IDs, so that transactions cannot deadlock. SQLite needs no row locks, because a transaction locks
 * the whole database when it begins.
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
 * Returns SQL for the time at which an endpoint is due again after its turn. The result is the
 * earliest due time of the endpoint's waiting deliveries, but not earlier than now. Endpoints are
 * served in the order of their due times. With an earlier time, an endpoint with many overdue
 * deliveries could overtake endpoints that have waited longer.
 */
export const nextTurn = (nowMs: number) =>
  sql<number | null>`(select case when min(due_at) < ${nowMs} then ${nowMs} else min(due_at) end
    from webhook_deliveries
    where endpoint_id = webhook_endpoints.id and webhook_deliveries.state = 'waiting')`;

/**
 * Sets the due times of endpoints to now, because these endpoints may have deliveries that are due.
 * An endpoint that is already due keeps its place in the order.
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
