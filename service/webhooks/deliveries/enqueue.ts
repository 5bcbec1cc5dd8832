// Adds deliveries for new events, for replays, and for test events. An endpoint receives the events
// of an address one after the other. Each delivery waits until the address's previous delivery has
// succeeded or will not be retried.

import { deliveryIdPattern } from "executable-address/client/internal";
import type { TestEvent } from "executable-address/webhook";
import type { Insertable, Kysely, Transaction } from "kysely";
import { z } from "zod";
import { eventVersion } from "../../events/changes.ts";
import { findEvents, type WhichEvents } from "../../events/list.ts";
import { type NewEvent, newEventId } from "../../events/watches.ts";
import { timeInput, toIso } from "../../flow/days.ts";
import { groupsOf } from "../../flow/groups.ts";
import { newId } from "../../flow/new-id.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { awaitTurn, lockEndpoints } from "./lock-endpoints.ts";

/** The maximum number of events in a replay. */
export const replaysMax = 1_000;

/**
 * Adds deliveries for new events. Runs in the transaction that stores the events, so that no event
 * lacks its deliveries. Other deliveries wait for this transaction. To keep the transaction short,
 * each statement handles many endpoints.
 */
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
    .execute();
  const wanted = endpoints.flatMap(({ id, account_id, types }) =>
    events
      .filter(
        ({ accountId, type }) =>
          accountId === account_id && (types === "" || types.split(",").includes(type)),
      )
      .map((event) => ({ endpointId: id, event })),
  );
  if (wanted.length === 0) return;
  const ids = [...new Set(wanted.map(({ endpointId }) => endpointId))];
  await lockEndpoints(transaction, ids);
  const addresses = new Map(events.map(({ address }) => [address.toString("hex"), address]));
  const before = await transaction
    .selectFrom("webhook_deliveries")
    .select(["endpoint_id", "address"])
    .distinct()
    .where("endpoint_id", "in", ids)
    .where("address", "in", [...addresses.values()])
    .where("state", "in", ["waiting", "held"])
    .execute();
  const lineOf = (endpointId: string, address: Uint8Array) =>
    `${endpointId} ${Buffer.from(address).toString("hex")}`;
  const lines = new Set(before.map((row) => lineOf(row.endpoint_id, row.address!)));
  const rows = wanted.map(({ endpointId, event }) => {
    const line = lineOf(endpointId, event.address);
    const isHeld = lines.has(line);
    lines.add(line);
    return newRow(endpointId, { ...event, eventId: event.id, isHeld }, nowMs);
  });
  await insert(transaction, rows);
  await awaitTurn(transaction, ids, nowMs);
}

type New = {
  eventId: string;
  type: string;
  address: Buffer | null;
  sequence: number;
  isHeld?: boolean;
  body?: string;
};

function newRow(endpointId: string, given: New, nowMs: number): NewRow {
  const { eventId, type, address, sequence, isHeld = false, body } = given;
  const id = newId(deliveryIdPattern);
  return {
    ...{ id, endpoint_id: endpointId, event_id: eventId, type, address, sequence },
    ...{ body: body ?? null, state: isHeld ? "held" : "waiting", attempts: 0 },
    ...{ due_at: isHeld ? null : nowMs, created_at: nowMs },
  };
}

type NewRow = Insertable<Tables["webhook_deliveries"]>;

async function insert(transaction: Transaction<Tables>, rows: readonly NewRow[]): Promise<void> {
  for (const some of groupsOf(rows, statementRows.short)) {
    await transaction.insertInto("webhook_deliveries").values(some).execute();
  }
}

/** Parses a request to send events again: one event, or a time range. */
export const replayInput = z
  .union([
    z.strictObject({ eventId: z.string().max(100).describe("The ID of the event to send again.") }),
    z
      .strictObject({
        from: timeInput.describe("The start of the time range, inclusive."),
        until: timeInput.describe("The end of the time range, exclusive."),
      })
      .refine(({ from, until }) => from < until, {
        path: ["until"],
        message: "expected a time after `from`",
      }),
  ])
  .transform(
    (input): WhichEvents =>
      "eventId" in input ? input : { fromMs: input.from, untilMs: input.until },
  );

/**
 * Adds deliveries that send events again, with the same event IDs, oldest first. A replayed event
 * does not wait for other deliveries of its address.
 *
 * @returns the number of replayed events, and the time of the first omitted event or null
 */
export async function replay(
  db: Kysely<Tables>,
  accountId: string,
  endpointId: string,
  which: WhichEvents,
  nowMs: number,
): Promise<{ replayed: number; nextMs: number | null }> {
  return db.transaction().execute(async (transaction) => {
    const found = await findEvents(transaction, accountId, which, replaysMax + 1);
    if ((await lockEndpoints(transaction, [endpointId])).length === 0)
      return { replayed: 0, nextMs: null };
    const events = found.slice(0, replaysMax);
    const rows = events.map(({ id, type, sequence }) =>
      newRow(endpointId, { eventId: id, type, address: null, sequence }, nowMs),
    );
    await insert(transaction, rows);
    await awaitTurn(transaction, [endpointId], nowMs);
    const next = found[replaysMax];
    return { replayed: events.length, nextMs: next ? Number(next.created_at) : null };
  });
}

/**
 * Adds a delivery of a test event, which shows an account whether its endpoint accepts events. A
 * test event has no address.
 *
 * @returns the ID of the delivery
 */
export async function addTestDelivery(
  db: Kysely<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<string> {
  const eventId = newEventId();
  const type = "webhook.test";
  const event: TestEvent = {
    ...{ id: eventId, type, version: eventVersion, timestamp: toIso(nowMs) },
    data: {},
  };
  const body = JSON.stringify(event);
  return db.transaction().execute(async (transaction) => {
    await lockEndpoints(transaction, [endpointId]);
    const test = { eventId, type, address: null, sequence: 0, body };
    const row = newRow(endpointId, test, nowMs);
    await insert(transaction, [row]);
    await awaitTurn(transaction, [endpointId], nowMs);
    return row.id;
  });
}
