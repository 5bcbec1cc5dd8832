// Creates, changes, pauses, and removes an account's endpoints, for the dashboard, the API, and
// operators.

import { InvalidError } from "executable-address";
import { endpointIdPattern } from "executable-address/client/internal";
import { type EventType, eventTypes } from "executable-address/webhook";
import type { Kysely, Transaction } from "kysely";
import { type Actor, type AuditEvent, appendAudit } from "../accounts/audit.ts";
import { newId } from "../flow/new-id.ts";
import type { Tables } from "../store/tables.ts";
import { awaitTurn } from "./deliveries/lock-endpoints.ts";
import { outageFailures, releaseBacklog } from "./deliveries/retries.ts";
import { parseTarget, TargetError, type Targets } from "./guard.ts";
import { newLaneState } from "./lanes.ts";
import { newSecret, overlapMs } from "./sign.ts";

export const endpointsMax = 10;

/**
 * A webhook endpoint, without its secret. If `types` is empty, the endpoint receives events of all
 * types. Times are in Unix milliseconds.
 */
export type Endpoint = {
  id: string;
  url: string;
  types: EventType[];
  state: "active" | "paused" | "disabled";
  /** The reason why the endpoint is disabled, or null. */
  reason: string | null;
  failingSinceMs: number | null;
  oldSecretUntilMs: number | null;
  createdAtMs: number;
};

type Input = { url: string; types: readonly string[]; targets: Targets };

const invalid = (field: string, code: string, message: string) =>
  new InvalidError([{ path: [field], code, message }]);

function parseUrl(text: string, targets: Targets): string {
  try {
    return parseTarget(text, targets).href;
  } catch (error) {
    if (error instanceof TargetError) throw invalid("url", "target_refused", error.message);
    throw error;
  }
}

function parseTypes(types: readonly string[]): string {
  for (const type of types) {
    if (!(eventTypes as readonly string[]).includes(type)) {
      throw invalid(
        "types",
        "unknown_type",
        `expected one of ${eventTypes.join(", ")}, found ${type}`,
      );
    }
  }
  return [...new Set(types)].join(",");
}

/**
 * Adds an endpoint.
 *
 * @returns the endpoint with its secret, which cannot be read again
 * @throws {InvalidError}
 */
export async function addEndpoint(
  db: Kysely<Tables>,
  accountId: string,
  { url, types, targets }: Input,
  actor: Actor,
): Promise<Endpoint & { secret: string }> {
  const values = { url: parseUrl(url, targets), types: parseTypes(types), secret: newSecret() };
  const id = newId(endpointIdPattern);
  await db.transaction().execute(async (transaction) => {
    // Locks the rows of the account's endpoints. So if two requests add the tenth endpoint
    // simultaneously, one of the two fails.
    await startUpdate(transaction)
      .set((eb) => ({ version: eb("version", "+", 1) }))
      .where("account_id", "=", accountId)
      .execute();
    const existing = await listEndpoints(transaction, accountId);
    const same = existing.find(({ url }) => url === values.url);
    if (same) {
      const types = same.types.join(", ") || "all";
      const message = `endpoint ${same.id} already has this URL (types: ${types})`;
      throw invalid("url", "url_in_use", `${message}; to get a new secret, rotate the secret`);
    }
    if (existing.length >= endpointsMax) {
      const message = `expected at most ${endpointsMax} endpoints per account`;
      throw invalid("url", "too_many", `${message}, found ${existing.length}: remove one first`);
    }
    await transaction
      .insertInto("webhook_endpoints")
      .values({
        ...{ id, account_id: accountId, ...values, state: "active", lane: newLaneState.lane },
        ...{
          streak: newLaneState.streak,
          barred_until: newLaneState.barredUntilMs,
          version: 0,
          created_at: actor.atMs,
        },
      })
      .execute();
    await appendAudit(transaction, accountId, "webhook_added", actor, values.url);
  });
  return { ...(await findEndpoint(db, accountId, id))!, secret: values.secret };
}

const columns = [
  "id",
  "url",
  "types",
  "state",
  "reason",
  "failing_since",
  "old_until",
  "created_at",
] as const;

export async function listEndpoints(db: Kysely<Tables>, accountId: string): Promise<Endpoint[]> {
  const rows = await db
    .selectFrom("webhook_endpoints")
    .select(columns)
    .where("account_id", "=", accountId)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    id: row.id,
    url: row.url,
    types: row.types === "" ? [] : (row.types.split(",") as EventType[]),
    state: row.state,
    reason: row.reason,
    failingSinceMs: row.failing_since,
    oldSecretUntilMs: row.old_until,
    createdAtMs: Number(row.created_at),
  }));
}

export async function findEndpoint(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
): Promise<Endpoint | undefined> {
  return (await listEndpoints(db, accountId)).find((endpoint) => endpoint.id === id);
}

/**
 * Replaces the endpoint's secret. For 24 hours, deliveries are signed with both the old and the new
 * secret.
 *
 * @returns undefined if there is no such endpoint
 */
export async function rotateSecret(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
  actor: Actor,
): Promise<{ secret: string } | undefined> {
  const secret = newSecret();
  const rotated = await change(db, accountId, id, "webhook_rotated", actor, (update) =>
    update.set((eb) => ({
      old_secret: eb.ref("secret"),
      old_until: actor.atMs + overlapMs,
      secret,
    })),
  );
  return rotated && { secret };
}

/**
 * Pauses or resumes an endpoint. A paused endpoint receives nothing. A resumed endpoint receives
 * the events that were waiting before the pause, and new events. Events that occurred during the
 * pause are delivered only by a replay.
 *
 * @returns undefined if there is no such endpoint
 */
export function setPaused(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
  isPaused: boolean,
  actor: Actor,
): Promise<Endpoint | undefined> {
  const event = isPaused ? "webhook_paused" : "webhook_resumed";
  return change(db, accountId, id, event, actor, (update) =>
    update.set({
      state: isPaused ? "paused" : "active",
      reason: null,
      failing_since: null,
      lane: newLaneState.lane,
      streak: newLaneState.streak,
    }),
  );
}

/**
 * Removes the endpoint, so that it receives no further requests. An endpoint can have a million
 * deliveries, so they are deleted later, at the usual age.
 *
 * @returns false if there is no such endpoint
 */
export async function removeEndpoint(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
  actor: Actor,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const endpoint = await findEndpoint(transaction, accountId, id);
    if (!endpoint) return false;
    await transaction.deleteFrom("webhook_endpoints").where("id", "=", id).execute();
    await appendAudit(transaction, accountId, "webhook_removed", actor, endpoint.url);
    return true;
  });
}

type Update = ReturnType<typeof startUpdate>;
const startUpdate = (db: Kysely<Tables>) => db.updateTable("webhook_endpoints");

/** @returns the changed endpoint, or undefined if there is no such endpoint */
function change(
  db: Kysely<Tables>,
  accountId: string,
  id: string,
  event: AuditEvent,
  actor: Actor,
  set: (update: Update) => Update,
): Promise<Endpoint | undefined> {
  return db.transaction().execute(async (transaction) => {
    const endpoint = await findEndpoint(transaction, accountId, id);
    if (!endpoint) return undefined;
    await set(startUpdate(transaction)).where("id", "=", id).execute();
    if (event === "webhook_resumed") await releaseAll(transaction, id, actor.atMs);
    await appendAudit(transaction, accountId, event, actor, endpoint.url);
    return findEndpoint(transaction, accountId, id);
  });
}

/**
 * When the pause of an endpoint ends, sets the due times of its waiting deliveries to now. One call
 * changes only a limited number of deliveries. If more deliveries are waiting, sets `streak` as if
 * there were an outage. The next success then ends the outage, and makes more deliveries due.
 */
async function releaseAll(transaction: Transaction<Tables>, id: string, nowMs: number) {
  const isMore = await releaseBacklog(transaction, id, nowMs);
  const streak = -outageFailures;
  if (isMore) await startUpdate(transaction).set({ streak }).where("id", "=", id).execute();
  await awaitTurn(transaction, [id], nowMs);
}
