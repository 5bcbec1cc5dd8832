// Lists an account's events, and defines how long they are stored.

import type { EventType } from "executable-address/webhook";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { dayMs } from "../flow/days.ts";
import { prune, statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";

export const eventRetentionMs = 30 * dayMs;

/**
 * Runs `read` when all earlier reads in the queue have finished. Returns undefined if the search
 * must end early, for example because the client has disconnected.
 */
export type ReadQueue = <Done>(read: () => Promise<Done>) => Promise<Done | undefined>;

export const withoutQueue: ReadQueue = (read) => read();

export type EventQuery = {
  accountId: string;
  /** The list starts after this position. To start with the oldest event, pass 0. */
  after: number;
  limit: number;
  /** If empty or omitted, lists events of all types. */
  types?: readonly EventType[] | undefined;
  /**
   * Queues the reads of the search, one window (a limited range of positions) at a time. If `turn`
   * returns undefined, the search ends early.
   */
  turn?: ReadQueue;
};

type Found = { position: number; body: string }[];

/**
 * Lists events, oldest first. `body` is exactly the text that webhooks deliver. `rows` contains the
 * next matching events after the position `after`, without gaps. If `rows` has fewer than `limit`
 * events, all positions up to `until` have been searched.
 */
export async function listEvents(
  db: Kysely<Tables>,
  { turn = withoutQueue, ...query }: EventQuery,
): Promise<{ rows: Found; until: number }> {
  const rows: Found = [];
  for (let until = query.after; ; ) {
    const left = query.limit - rows.length;
    const window = await turn(() => readWindow(db, { ...query, after: until, limit: left }));
    rows.push(...(window?.rows ?? []));
    if (window?.last === undefined || rows.length === query.limit) return { rows, until };
    until = window.last;
  }
}

/**
 * Reads one window, which is a limited range of positions. `last` is the end of the window, or
 * undefined if no events follow.
 */
async function readWindow(
  db: Kysely<Tables>,
  { accountId, after, limit, types = [] }: EventQuery,
): Promise<{ rows: Found; last?: number | undefined }> {
  const following = db
    .selectFrom("events")
    .where("account_id", "=", accountId)
    .where("position", ">", after)
    .orderBy("position");
  const page = following.select(["position", "body"]).limit(limit);
  if (types.length === 0) return { rows: await page.execute() };
  const last = await following
    .select("position")
    .limit(1)
    .offset(statementRows.walked - 1)
    .executeTakeFirst();
  const rows = await page
    .where("type", "in", types)
    .$if(last !== undefined, (query) => query.where("position", "<=", last!.position))
    .execute();
  return { rows, last: last?.position };
}

/** Returns the body of an event, or undefined if the account has no such event. */
export async function findEvent(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("events")
    .select("body")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return row?.body;
}

/** Returns SQL for the body of the event `id`. The value is null if the event was deleted. */
export const bodyOf = (id: RawBuilder<unknown>) =>
  sql<string | null>`(select body from events where id = ${id})`;

/**
 * Returns SQL for the ID of the chain that the event is about. The value is null if the event is
 * about the intent's chain or was deleted.
 */
export const otherChainOf = (id: RawBuilder<unknown>) =>
  sql<number | null>`(select other_chain_id from events where id = ${id})`;

/**
 * Selects one event, or all events in a time range. Times are in Unix milliseconds. `fromMs` is
 * inclusive, and `untilMs` is exclusive.
 */
export type WhichEvents = { eventId: string } | { fromMs: number; untilMs: number };

/** Finds the account's events that `which` selects, oldest first. */
export function findEvents(
  db: Kysely<Tables>,
  accountId: string,
  which: WhichEvents,
  limit: number,
) {
  const query = db
    .selectFrom("events")
    .select(["id", "type", "sequence", "created_at"])
    .where("account_id", "=", accountId);
  const rows =
    "eventId" in which
      ? query.where("id", "=", which.eventId)
      : query
          .where("created_at", ">=", which.fromMs)
          .where("created_at", "<", which.untilMs)
          .orderBy("created_at")
          .orderBy("position")
          .limit(limit);
  return rows.execute();
}

/**
 * Deletes events that are older than {@link eventRetentionMs}.
 * @returns the number of deleted events
 */
export const pruneEvents = (db: Kysely<Tables>, nowMs: number): Promise<number> =>
  prune({
    find: (limit) =>
      db
        .selectFrom("events")
        .select("id")
        .where("created_at", "<", nowMs - eventRetentionMs)
        .orderBy("created_at")
        .limit(limit)
        .execute(),
    remove: (ids) => db.deleteFrom("events").where("id", "in", ids).execute(),
  });
