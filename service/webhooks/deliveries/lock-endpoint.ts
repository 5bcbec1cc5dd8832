// An endpoint's row guards its deliveries: whoever changes some of them holds it to the commit.

import { sql, type Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/** Locks the endpoint's row to the commit: what is held is released exactly once. */
export async function lockEndpoint(transaction: Transaction<Tables>, endpointId: string) {
  return transaction
    .updateTable("webhook_endpoints")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("id", "=", endpointId)
    .returning(["state", "failing_since"])
    .executeTakeFirst();
}

/** When the first of its deliveries is due, for whoever looks for endpoints to serve. */
export async function setNextDue(
  transaction: Transaction<Tables>,
  endpointId: string,
): Promise<void> {
  await transaction
    .updateTable("webhook_endpoints")
    .set((eb) => ({
      next_due: eb
        .selectFrom("webhook_deliveries")
        .select(sql<number | null>`min(due_at)`.as("due"))
        .where("endpoint_id", "=", endpointId)
        .where("state", "=", "waiting"),
    }))
    .where("id", "=", endpointId)
    .execute();
}
