// Claims deliveries by moving their due time forward, so that no other process sends them until
// they are finished or the lease has expired.

import { type Kysely, sql, type Transaction } from "kysely";
import { bodyOf } from "../../events/list.ts";
import type { Tables } from "../../store/tables.ts";
import type { Lane } from "../lanes.ts";
import { lockEndpoints, nextTurn } from "./lock-endpoints.ts";

/** A claim that is not finished by then can be taken by any process. */
const leaseMs = 60_000;

export type DueEndpoint = { id: string; accountId: string };

/**
 * Active endpoints of a lane with a due delivery, first the one whose turn is longest ago.
 *
 * @param busy accounts that have all the places that they can have, so that thousands of their
 *   deliveries hide no others
 */
export async function findDueEndpoints(
  db: Kysely<Tables>,
  lane: Lane,
  busy: readonly string[],
  nowMs: number,
  limit: number,
): Promise<DueEndpoint[]> {
  return db
    .selectFrom("webhook_endpoints")
    .select(["id", "account_id as accountId"])
    .where("state", "=", "active")
    .where("lane", "=", lane)
    .$if(busy.length > 0, (query) => query.where("account_id", "not in", busy))
    .where("next_due", "<=", nowMs)
    .orderBy("next_due")
    .limit(limit)
    .execute();
}

/** A delivery to be sent now. `secrets` are the currently valid ones. */
export type Claim = {
  id: string;
  endpointId: string;
  accountId: string;
  eventId: string;
  url: string;
  secrets: string[];
  body: string;
  attempts: number;
};

/**
 * Takes up to `room` due deliveries of each endpoint, in one transaction: no other process has them
 * until the lease has expired. The number of statements does not depend on the number of endpoints.
 */
export async function claim(
  db: Kysely<Tables>,
  endpoints: readonly (DueEndpoint & { room: number })[],
  nowMs: number,
): Promise<Claim[]> {
  return db.transaction().execute(async (transaction) => {
    const locked = await lockEndpoints(
      transaction,
      endpoints.map(({ id }) => id),
    );
    const active = new Map(
      locked.filter(({ state }) => state === "active").map((row) => [row.id, row]),
    );
    const asked = endpoints.filter(({ id }) => active.has(id));
    if (asked.length === 0) return [];
    const rows = await findDue(transaction, asked, nowMs);
    if (rows.length > 0)
      await transaction
        .updateTable("webhook_deliveries")
        .set({ due_at: nowMs + leaseMs, is_claimed: 1 })
        .where(
          "id",
          "in",
          rows.map(({ id }) => id),
        )
        .execute();
    await transaction
      .updateTable("webhook_endpoints")
      .set({ next_due: nextTurn(nowMs) })
      .where("id", "in", [...active.keys()])
      .execute();
    return rows.map(({ id, endpoint_id, event_id, attempts, body, event_body }) => {
      const { account_id, url, secret, old_secret, old_until } = active.get(endpoint_id)!;
      return {
        ...{ id, endpointId: endpoint_id, accountId: account_id, eventId: event_id, url, attempts },
        secrets: [secret, ...(old_secret && (old_until ?? 0) > nowMs ? [old_secret] : [])],
        body: body ?? event_body ?? "",
      };
    });
  });
}

/** The deliveries that are due the longest, up to `room` per endpoint. */
function findDue(
  transaction: Transaction<Tables>,
  endpoints: readonly (DueEndpoint & { room: number })[],
  nowMs: number,
) {
  const each = endpoints.map(({ id, room }) =>
    transaction
      .selectFrom((from) =>
        from
          .selectFrom("webhook_deliveries as d")
          .select(["d.id", "d.endpoint_id", "d.event_id", "d.attempts", "d.body"])
          .select(bodyOf(sql.ref("d.event_id")).as("event_body"))
          .where("d.endpoint_id", "=", id)
          .where("d.state", "=", "waiting")
          .where("d.due_at", "<=", nowMs)
          .orderBy("d.due_at")
          .orderBy("d.created_at")
          .limit(room)
          .as("due"),
      )
      .selectAll(),
  );
  return each.reduce((all, more) => all.unionAll(more)).execute();
}
