// Adds deliveries: with new events, for a replay, and for a test. An endpoint gets the events of
// one address one after the other: the next is held until the one before is finished.

import { randomBytes } from "node:crypto";
import type { Kysely, Transaction } from "kysely";
import type { NewEvent } from "../../events/watches.ts";
import type { Tables } from "../../store/tables.ts";
import { awaitTurn, lockEndpoint } from "./lock-endpoint.ts";

/** Events that one replay sends again. */
const replaysMax = 1_000;

/** In the transaction that keeps the events: neither without the other. */
export async function enqueue(
  transaction: Transaction<Tables>,
  events: readonly NewEvent[],
  nowMs: number,
): Promise<void> {
  const accounts = [...new Set(events.map(({ accountId }) => accountId))];
  const endpoints = await transaction
    .selectFrom("webhook_endpoints")
    .select(["id", "account_id", "types"])
    .where("account_id", "in", accounts)
    .where("state", "=", "active")
    .orderBy("id")
    .execute();
  for (const { id, account_id, types } of endpoints) {
    const mine = events.filter(
      ({ accountId, type }) =>
        accountId === account_id && (types === "" || types.split(",").includes(type)),
    );
    if (mine.length === 0) continue;
    await lockEndpoint(transaction, id);
    for (const event of mine) {
      const before = await transaction
        .selectFrom("webhook_deliveries")
        .select("id")
        .where("endpoint_id", "=", id)
        .where("address", "=", event.address)
        .where("state", "in", ["waiting", "held"])
        .limit(1)
        .executeTakeFirst();
      await insert(
        transaction,
        id,
        { ...event, eventId: event.id, isHeld: Boolean(before) },
        nowMs,
      );
    }
    await awaitTurn(transaction, id, nowMs);
  }
}

type New = {
  eventId: string;
  type: string;
  address: Buffer | null;
  sequence: number;
  isHeld?: boolean;
  body?: string;
};

async function insert(
  transaction: Transaction<Tables>,
  endpointId: string,
  { eventId, type, address, sequence, isHeld = false, body }: New,
  nowMs: number,
): Promise<string> {
  const id = `whd_${randomBytes(12).toString("hex")}`;
  await transaction
    .insertInto("webhook_deliveries")
    .values({
      ...{ id, endpoint_id: endpointId, event_id: eventId, type, address, sequence },
      ...{ body: body ?? null, state: isHeld ? "held" : "waiting", attempts: 0 },
      ...{ due_at: isHeld ? null : nowMs, created_at: nowMs },
    })
    .execute();
  return id;
}

/** Times in Unix milliseconds, when the events were said; from inclusive, until exclusive. */
export type Replayed = { eventId: string } | { fromMs: number; untilMs: number };

/**
 * Sends events again, under their ids, apart from the order of what is new.
 * @returns how many, oldest first, and from when to go on with the rest; null: that was all
 */
export async function replay(
  db: Kysely<Tables>,
  accountId: string,
  endpointId: string,
  which: Replayed,
  nowMs: number,
): Promise<{ replayed: number; nextMs: number | null }> {
  return db.transaction().execute(async (transaction) => {
    const query = transaction
      .selectFrom("events")
      .select(["id", "type", "sequence", "created_at"])
      .where("account_id", "=", accountId);
    const found = await ("eventId" in which
      ? query.where("id", "=", which.eventId)
      : query
          .where("created_at", ">=", which.fromMs)
          .where("created_at", "<", which.untilMs)
          .orderBy("created_at")
          .orderBy("position")
          .limit(replaysMax + 1)
    ).execute();
    if (!(await lockEndpoint(transaction, endpointId))) return { replayed: 0, nextMs: null };
    const events = found.slice(0, replaysMax);
    for (const { id, type, sequence } of events) {
      await insert(transaction, endpointId, { eventId: id, type, address: null, sequence }, nowMs);
    }
    await awaitTurn(transaction, endpointId, nowMs);
    const next = found[replaysMax];
    return { replayed: events.length, nextMs: next ? Number(next.created_at) : null };
  });
}

/** An event of no address, to see whether the endpoint takes it. */
export async function sendTest(
  db: Kysely<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<string> {
  const eventId = `evt_${randomBytes(16).toString("hex")}`;
  const type = "webhook.test";
  const body = JSON.stringify({
    id: eventId,
    type,
    timestamp: new Date(nowMs).toISOString(),
    data: {},
  });
  return db.transaction().execute(async (transaction) => {
    await lockEndpoint(transaction, endpointId);
    const test = { eventId, type, address: null, sequence: 0, body };
    const id = await insert(transaction, endpointId, test, nowMs);
    await awaitTurn(transaction, endpointId, nowMs);
    return id;
  });
}
