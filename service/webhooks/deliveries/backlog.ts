// Makes waiting attempts due: after an outage, or when an endpoint is resumed.

import type { Transaction } from "kysely";
import { statementRows } from "../../flow/groups.ts";
import type { Tables } from "../../store/tables.ts";
import { attemptsMax } from "./waits.ts";

/** This number of consecutive failures is an outage; a single refused delivery is not. */
export const outageFailures = 2;

/**
 * After an outage, makes waiting attempts due now, oldest first. It does not change pending
 * requests, or deliveries with one attempt left, so an endpoint that fails again and again does not
 * use up all attempts immediately. One success releases `statementRows.short` deliveries.
 *
 * @returns whether there may be more
 */
export async function releaseBacklog(
  transaction: Transaction<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<boolean> {
  const rows = await transaction
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("endpoint_id", "=", endpointId)
    .where("state", "=", "waiting")
    .where("due_at", ">", nowMs)
    .where("is_claimed", "=", 0)
    .where("attempts", "<", attemptsMax - 1)
    .orderBy("due_at")
    .limit(statementRows.short)
    .execute();
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  await transaction
    .updateTable("webhook_deliveries")
    .set({ due_at: nowMs })
    .where("id", "in", ids)
    .execute();
  return rows.length === statementRows.short;
}
