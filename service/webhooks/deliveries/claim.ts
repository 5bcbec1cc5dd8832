// Claims deliveries by moving their due time ahead, so that no other process has them until they
// are finished, or the lease is over.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";
import type { Lane } from "../lanes.ts";
import { endTurn, lockEndpoint } from "./lock-endpoint.ts";

/** A claim that is not finished by then may be taken by any process. */
const leaseMs = 60_000;

export type Endpoint = { id: string; accountId: string };

/**
 * Active endpoints of a lane with something due, first the one whose turn is longest ago.
 *
 * @param busy accounts that have all the places they may have: thousands of theirs hide no other
 */
export async function findDueEndpoints(
  db: Kysely<Tables>,
  lane: Lane,
  busy: readonly string[],
  nowMs: number,
  limit: number,
): Promise<Endpoint[]> {
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

/** A delivery to be sent now. `secrets` are those valid now. */
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
 * Takes up to `room` deliveries of each endpoint that are due, in one transaction: nobody else has
 * them until the lease is over.
 */
export async function claim(
  db: Kysely<Tables>,
  endpoints: readonly (Endpoint & { room: number })[],
  nowMs: number,
): Promise<Claim[]> {
  // Endpoints are locked in the order of their ids everywhere, so that nobody waits in a circle.
  const inOrder = endpoints.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return db.transaction().execute(async (transaction) => {
    const claims: Claim[] = [];
    for (const each of inOrder) claims.push(...(await claimOne(transaction, each, nowMs)));
    return claims;
  });
}

async function claimOne(
  transaction: Transaction<Tables>,
  { id: endpointId, accountId, room }: Endpoint & { room: number },
  nowMs: number,
): Promise<Claim[]> {
  const endpoint = await lockEndpoint(transaction, endpointId);
  if (endpoint?.state !== "active") return [];
  const rows = await transaction
    .selectFrom("webhook_deliveries as d")
    .innerJoin("webhook_endpoints as e", "e.id", "d.endpoint_id")
    .leftJoin("events as v", "v.id", "d.event_id")
    .select(["d.id", "d.event_id", "d.attempts", "d.body", "v.body as event_body"])
    .select(["e.url", "e.secret", "e.old_secret", "e.old_until"])
    .where("d.endpoint_id", "=", endpointId)
    .where("d.state", "=", "waiting")
    .where("d.due_at", "<=", nowMs)
    .orderBy("d.due_at")
    .orderBy("d.created_at")
    .limit(room)
    .execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) {
    await transaction
      .updateTable("webhook_deliveries")
      .set({ due_at: nowMs + leaseMs, is_claimed: 1 })
      .where("id", "in", ids)
      .execute();
  }
  await endTurn(transaction, endpointId, nowMs);
  return rows.map((row) => ({
    id: row.id,
    endpointId,
    accountId,
    eventId: row.event_id,
    url: row.url,
    secrets: [
      row.secret,
      ...(row.old_secret && (row.old_until ?? 0) > nowMs ? [row.old_secret] : []),
    ],
    body: row.body ?? row.event_body ?? "",
    attempts: row.attempts,
  }));
}
