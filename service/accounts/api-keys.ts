// The API keys of an account. Each has a name, scopes and perhaps an expiry, so that a server gets
// no more than its job needs, and a second key is the overlap while the first is replaced. No
// server caches a key (spec §5, rule 5): what is rotated or revoked is dead at once everywhere.

import { InvalidError } from "executable-address";
import type { Kysely } from "kysely";
import { toIso } from "../flow/days.ts";
import type { Tables } from "../store/tables.ts";
import { type Actor, audited } from "./audit.ts";
import { apiKeyPrefix, digestOf, newApiKey } from "./credentials.ts";

/** `create` makes and checks addresses, `read` lists the account's, `webhooks` keeps endpoints. */
export const scopes = ["create", "read", "webhooks"] as const;
export type Scope = (typeof scopes)[number];

/** The places of an account's keys are numbered from 1 to this. A rotated key keeps its place. */
export const apiKeysMax = 10;

export type NewApiKey = {
  /** For the account's own people; see isPlainName. */
  name: string;
  scopes: readonly Scope[];
  /** Unix milliseconds; null for a key that does not expire. */
  expiresAtMs: number | null;
};
export type Made = { apiKey: string; prefix: string };

/** The scopes of a key that was made without naming any. */
export const wholeKey: NewApiKey = { name: "server", scopes, expiresAtMs: null };

/**
 * @returns the new key, shown here and never again; undefined when another took its place meanwhile
 * @throws {InvalidError} where every place is taken, or its expiry is no time ahead
 */
export async function addApiKey(
  db: Kysely<Tables>,
  accountId: string,
  { name, scopes, expiresAtMs }: NewApiKey,
  actor: Actor,
): Promise<Made | undefined> {
  // A time that could not be read is no number, and is not ahead either.
  if (expiresAtMs !== null && !(expiresAtMs > actor.atMs)) throw expired(expiresAtMs);
  const { apiKey, prefix, digest } = drawKey();
  const addition = { accountId, event: "api_key_created", actor, detail: prefix } as const;
  const isAdded = await audited(db, addition, async (transaction) => {
    const taken = (await listApiKeys(transaction, accountId)).map(({ number }) => number);
    const places = Array.from({ length: apiKeysMax }, (_, at) => at + 1);
    const number = places.find((place) => !taken.includes(place));
    if (number === undefined) throw tooMany(taken.length);
    const inserted = await transaction
      .insertInto("api_keys")
      .values({
        ...{ account_id: accountId, number, digest, prefix, name, scopes: scopes.join(",") },
        ...{ created_at: actor.atMs, expires_at: expiresAtMs },
      })
      .onConflict((conflict) => conflict.columns(["account_id", "number"]).doNothing())
      .executeTakeFirst();
    return Boolean(inserted.numInsertedOrUpdatedRows);
  });
  return isAdded ? { apiKey, prefix } : undefined;
}

/**
 * Replaces the key that begins with `prefix`; name, scopes and expiry stay. It is one
 * compare-and-swap of one row: of two requests at once the second finds its key gone.
 *
 * @returns undefined when the account has no such key, or it has expired
 */
export async function rotateApiKey(
  db: Kysely<Tables>,
  accountId: string,
  prefix: string,
  actor: Actor,
): Promise<Made | undefined> {
  const { apiKey, ...next } = drawKey();
  const unused = { last_used_at: null, seen_in_browser_at: null };
  const rotation = { accountId, event: "api_key_rotated", actor, detail: next.prefix } as const;
  const isRotated = await audited(db, rotation, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("api_keys")
      .set({ ...next, rotated_at: actor.atMs, ...unused })
      .where("account_id", "=", accountId)
      .where("prefix", "=", prefix)
      .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", actor.atMs)]))
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });
  return isRotated ? { apiKey, prefix: next.prefix } : undefined;
}

/** @returns false when the account has no such key */
export async function revokeApiKey(
  db: Kysely<Tables>,
  accountId: string,
  prefix: string,
  actor: Actor,
): Promise<boolean> {
  const revocation = { accountId, event: "api_key_revoked", actor, detail: prefix } as const;
  return audited(db, revocation, async (transaction) => {
    const { numDeletedRows } = await transaction
      .deleteFrom("api_keys")
      .where("account_id", "=", accountId)
      .where("prefix", "=", prefix)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  });
}

/** Oldest place first. What may be shown of each: neither the key nor its digest. */
export async function listApiKeys(db: Kysely<Tables>, accountId: string) {
  const rows = await db
    .selectFrom("api_keys")
    .select(["number", "prefix", "name", "scopes", "created_at", "expires_at"])
    .select(["rotated_at", "last_used_at", "seen_in_browser_at"])
    .where("account_id", "=", accountId)
    .orderBy("number")
    .execute();
  return rows.map((row) => ({ ...row, scopes: parseScopes(row.scopes) }));
}

/** The inverse of how a row keeps them. */
export const parseScopes = (text: string) => text.split(",") as Scope[];

function drawKey() {
  const apiKey = newApiKey();
  return { apiKey, prefix: apiKeyPrefix(apiKey), digest: digestOf(apiKey) };
}

function expired(atMs: number): InvalidError {
  const found = Number.isNaN(atMs) ? "no time" : toIso(atMs);
  const message = `expected a time ahead of now, such as 2027-01-31T00:00:00Z, found ${found}`;
  return new InvalidError([{ path: ["expiresAt"], code: "expired", message }]);
}

function tooMany(held: number): InvalidError {
  const most = `an account has at most ${apiKeysMax} API keys`;
  const message = `${most}, and this one has ${held}: revoke one first`;
  return new InvalidError([{ path: ["name"], code: "too_many", message }]);
}
