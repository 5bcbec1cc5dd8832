// Deliveries: put in with the events they carry, claimed, and finished. Of an address's events an
// endpoint is told one after the other: the next is held until the one before is through.

import { randomBytes } from "node:crypto";
import { type Kysely, sql, type Transaction } from "kysely";
import { eventsKeptMs } from "../events/list.ts";
import type { NewEvent } from "../events/watches.ts";
import type { Tables } from "../store/tables.ts";
import type { Sent } from "./send.ts";

/** A second attempt after a minute's fraction, the tenth some 75 hours after the first. */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000);
export const attemptsMax = waitsMs.length + 1;
/** A claim that is not finished by then is anybody's again. */
const leaseMs = 60_000;
/** An endpoint that took nothing for so long is disabled. */
const failingMsMax = 3 * 86_400_000;
const retryAfterMsMax = 86_400_000;
const replaysMax = 1_000;
const pruneMax = 1_000;

export const newDeliveryId = () => `whd_${randomBytes(12).toString("hex")}`;

/** Locks the endpoint's row to the commit: what is held is released exactly once. */
async function lock(transaction: Transaction<Tables>, endpointId: string) {
  return transaction
    .updateTable("webhook_endpoints")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("id", "=", endpointId)
    .returning(["state", "failing_since"])
    .executeTakeFirst();
}

async function setNextDue(transaction: Transaction<Tables>, endpointId: string): Promise<void> {
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
    await lock(transaction, id);
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
    await setNextDue(transaction, id);
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
  const id = newDeliveryId();
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

export type Endpoint = { id: string; isSlow: boolean };

/** Active endpoints with something due; the slow ones apart, so that they keep nobody waiting. */
export async function findDueEndpoints(
  db: Kysely<Tables>,
  isSlow: boolean,
  nowMs: number,
  limit: number,
): Promise<Endpoint[]> {
  const rows = await db
    .selectFrom("webhook_endpoints")
    .select("id")
    .where("state", "=", "active")
    .where("is_slow", "=", isSlow ? 1 : 0)
    .where("next_due", "<=", nowMs)
    .orderBy("next_due")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => ({ id, isSlow }));
}

/** What is to be sent now. `secrets` those valid now. */
export type Claim = {
  id: string;
  endpointId: string;
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
  endpoints: readonly { id: string; room: number }[],
  nowMs: number,
): Promise<Claim[]> {
  // Endpoints are locked in the order of their ids everywhere, so that nobody waits in a circle.
  const inOrder = endpoints.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return db.transaction().execute(async (transaction) => {
    const claims: Claim[] = [];
    for (const { id, room } of inOrder) {
      claims.push(...(await claimOne(transaction, id, room, nowMs)));
    }
    return claims;
  });
}

async function claimOne(
  transaction: Transaction<Tables>,
  endpointId: string,
  limit: number,
  nowMs: number,
): Promise<Claim[]> {
  const endpoint = await lock(transaction, endpointId);
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
    .limit(limit)
    .execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) {
    await transaction
      .updateTable("webhook_deliveries")
      .set({ due_at: nowMs + leaseMs })
      .where("id", "in", ids)
      .execute();
  }
  await setNextDue(transaction, endpointId);
  return rows.map((row) => ({
    id: row.id,
    endpointId,
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

export type Outcome = "delivered" | "retried" | "failed" | "disabled";
export type Finished = { claim: Claim; sent: Sent; nowMs: number };

/**
 * Keeps how each went, and what follows, in one transaction. Repeating it for an attempt changes
 * nothing.
 * @returns in the order given
 */
export async function finish(
  db: Kysely<Tables>,
  finished: readonly Finished[],
  random: () => number,
): Promise<Outcome[]> {
  const inOrder = finished.toSorted((a, b) => (a.claim.endpointId < b.claim.endpointId ? -1 : 1));
  return db.transaction().execute(async (transaction) => {
    const outcomes = new Map<Finished, Outcome>();
    for (const each of inOrder) outcomes.set(each, await finishOne(transaction, each, random));
    return finished.map((each) => outcomes.get(each)!);
  });
}

async function finishOne(
  transaction: Transaction<Tables>,
  { claim: { id, endpointId, attempts }, sent, nowMs }: Finished,
  random: () => number,
): Promise<Outcome> {
  const isTaken = sent.status !== null && sent.status >= 200 && sent.status < 300;
  const number = attempts + 1;
  const endpoint = await lock(transaction, endpointId);
  const found = await transaction
    .selectFrom("webhook_deliveries")
    .select(["address", "attempts", "state"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (!endpoint || !found || found.state !== "waiting" || found.attempts !== attempts) {
    return "retried";
  }
  const { status, latencyMs, answer } = sent;
  await transaction
    .insertInto("webhook_attempts")
    .values({ delivery_id: id, number, at: nowMs, status, latency_ms: latencyMs, answer })
    .execute();
  const isOver = isTaken || number >= attemptsMax;
  const state = isTaken ? "delivered" : isOver ? "failed" : "waiting";
  const due_at = isOver ? null : nowMs + waitOf(number, sent, random);
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state, attempts: number, due_at })
    .where("id", "=", id)
    .execute();
  if (isOver && found.address) {
    await release(transaction, endpointId, Buffer.from(found.address), nowMs);
  }
  const since = isTaken ? null : (endpoint.failing_since ?? nowMs);
  const reason = disabledBecause(sent, since, nowMs);
  await transaction
    .updateTable("webhook_endpoints")
    .set({ failing_since: since, is_slow: isTaken ? 0 : 1, ...reason })
    .where("id", "=", endpointId)
    .execute();
  await setNextDue(transaction, endpointId);
  if ("state" in reason) return "disabled";
  return isTaken ? "delivered" : isOver ? "failed" : "retried";
}

function disabledBecause({ status }: Sent, failingSince: number | null, nowMs: number) {
  const disabled = (reason: string) => ({ state: "disabled" as const, reason });
  if (status === 410) return disabled("it answered 410 Gone");
  if (failingSince !== null && nowMs - failingSince >= failingMsMax) {
    return disabled("it took nothing for 3 days");
  }
  return {};
}

/** Jitter, lest all that failed together come back together. */
function waitOf(number: number, { retryAfterSeconds }: Sent, random: () => number): number {
  const wait = waitsMs[number - 1]! * (0.9 + random() / 5);
  const asked = Math.min(retryAfterMsMax, (retryAfterSeconds ?? 0) * 1000);
  return Math.round(Math.max(wait, asked));
}

async function release(
  transaction: Transaction<Tables>,
  endpointId: string,
  address: Buffer,
  nowMs: number,
): Promise<void> {
  const next = await transaction
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("endpoint_id", "=", endpointId)
    .where("address", "=", address)
    .where("state", "=", "held")
    .orderBy("sequence")
    .limit(1)
    .executeTakeFirst();
  if (!next) return;
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state: "waiting", due_at: nowMs })
    .where("id", "=", next.id)
    .execute();
}

/** Sends events again, under their ids, apart from the order of what is new. */
export async function replay(
  db: Kysely<Tables>,
  accountId: string,
  endpointId: string,
  which: { eventId: string } | { fromMs: number; untilMs: number },
  nowMs: number,
): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const query = transaction
      .selectFrom("events")
      .select(["id", "type", "sequence"])
      .where("account_id", "=", accountId)
      .orderBy("position")
      .limit(replaysMax);
    const events = await ("eventId" in which
      ? query.where("id", "=", which.eventId)
      : query.where("created_at", ">=", which.fromMs).where("created_at", "<", which.untilMs)
    ).execute();
    if (!(await lock(transaction, endpointId))) return 0;
    for (const { id, type, sequence } of events) {
      await insert(transaction, endpointId, { eventId: id, type, address: null, sequence }, nowMs);
    }
    await setNextDue(transaction, endpointId);
    return events.length;
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
    await lock(transaction, endpointId);
    const test = { eventId, type, address: null, sequence: 0, body };
    const id = await insert(transaction, endpointId, test, nowMs);
    await setNextDue(transaction, endpointId);
    return id;
  });
}

/** Newest first, each with its attempts. */
export async function listDeliveries(db: Kysely<Tables>, endpointId: string, limit: number) {
  const rows = await db
    .selectFrom("webhook_deliveries")
    .select(["id", "event_id", "type", "state", "due_at", "created_at"])
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

/** Deliveries as old as the events they carried are gone with them. */
export async function pruneDeliveries(db: Kysely<Tables>, nowMs: number): Promise<void> {
  const old = await db
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("created_at", "<", nowMs - eventsKeptMs)
    .orderBy("created_at")
    .limit(pruneMax)
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return;
  await db.deleteFrom("webhook_attempts").where("delivery_id", "in", ids).execute();
  await db.deleteFrom("webhook_deliveries").where("id", "in", ids).execute();
}
