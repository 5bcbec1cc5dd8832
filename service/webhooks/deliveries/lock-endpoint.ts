// Locks an endpoint's row, which every transaction that changes its deliveries does first.

import { sql, type Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/** Locks the endpoint's row to the commit: what is held is released exactly once. */
export async function lockEndpoint(transaction: Transaction<Tables>, endpointId: string) {
  return transaction
    .updateTable("webhook_endpoints")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("id", "=", endpointId)
    .returning(["state", "failing_since", "lane", "streak", "barred_until"])
    .executeTakeFirst();
}

/**
 * When its next delivery may be looked for, after it had a turn: not before now, however long what
 * waits has waited. Endpoints are served in the order of these times, so each gets its turn,
 * however many deliveries another has waiting.
 */
export async function endTurn(
  transaction: Transaction<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<void> {
  await transaction
    .updateTable("webhook_endpoints")
    .set((eb) => ({
      next_due: eb
        .selectFrom("webhook_deliveries")
        .select(
          sql<number | null>`case when min(due_at) < ${nowMs} then ${nowMs}
          else min(due_at) end`.as("due"),
        )
        .where("endpoint_id", "=", endpointId)
        .where("state", "=", "waiting"),
    }))
    .where("id", "=", endpointId)
    .execute();
}

/** Something of it is due now; where something was due already, it keeps its place. */
export async function awaitTurn(
  transaction: Transaction<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<void> {
  await transaction
    .updateTable("webhook_endpoints")
    .set({ next_due: nowMs })
    .where("id", "=", endpointId)
    .where((eb) => eb.or([eb("next_due", "is", null), eb("next_due", ">", nowMs)]))
    .execute();
}
