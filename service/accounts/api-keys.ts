// Adds, rotates, revokes, and lists the API keys of an account. Each key has a name, scopes, and
// optionally an expiry. With scopes, an account can give each of its own servers only the necessary
// permissions. To replace a key without downtime, add a new key and then revoke the old key.
// Servers do not cache keys (spec §5, rule 5), so a rotated or revoked key stops working
// immediately.

import { InvalidError } from "executable-address";
import type { Kysely } from "kysely";
import { z } from "zod";
import { timeInput, toIso } from "../flow/days.ts";
import type { Tables } from "../store/tables.ts";
import { type Actor, audited } from "./audit.ts";
import {
  apiKeyPrefix,
  digestCredential,
  newApiKey,
  parseScopes,
  type Scope,
  scopes,
} from "./credentials.ts";
import { isPlainName, plainNames } from "./names.ts";

/**
 * The maximum number of API keys per account. Each key has a number from 1 to this maximum. A
 * rotated key keeps its number.
 */
export const apiKeysMax = 10;

export type NewApiKey = {
  /** A name for the dashboard, such as "server". {@link isPlainName} must accept the name. */
  name: string;
  scopes: readonly Scope[];
  /** Unix milliseconds, or null if the key does not expire. */
  expiresAtMs: number | null;
};
export type Made = { apiKey: string; prefix: string };

/** The default settings of a new key: every scope, and no expiry. */
export const wholeKey: NewApiKey = { name: "server", scopes, expiresAtMs: null };

/** Parses the settings of a new key, for the dashboard and for the operator's command. */
export const newKeyInput = z
  .strictObject({
    name: z.string().refine(isPlainName, `expected ${plainNames}`).default(wholeKey.name),
    scopes: z
      .array(z.enum(scopes))
      .min(1)
      .max(scopes.length)
      .default([...scopes]),
    expiresAt: timeInput.nullable().default(null),
  })
  .transform(
    ({ name, scopes, expiresAt }): NewApiKey => ({
      name,
      scopes: [...new Set(scopes)],
      expiresAtMs: expiresAt,
    }),
  );

/**
 * Adds an API key to the account.
 *
 * @returns the new key, or undefined if another request added a key simultaneously
 * @throws {InvalidError} if the account already has `apiKeysMax` keys, or the expiry is not in the
 *   future
 */
export async function addApiKey(
  db: Kysely<Tables>,
  accountId: string,
  { name, scopes, expiresAtMs }: NewApiKey,
  actor: Actor,
): Promise<Made | undefined> {
  // An invalid date is NaN, and every comparison with NaN is false. This check negates `>` instead
  // of using `<=`, so that it also rejects an invalid date.
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
 * Replaces the API key that begins with `prefix`. The new key has the same name, scopes, and
 * expiry. If two requests rotate a key simultaneously, only the first request succeeds.
 *
 * @returns the new key, or undefined if the account has no unexpired key with this prefix
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

/**
 * Revokes a key.
 * @returns false if the account has no such key
 */
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

/** Lists the account's API keys by number, without their texts and digests. */
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

function drawKey() {
  const apiKey = newApiKey();
  return { apiKey, prefix: apiKeyPrefix(apiKey), digest: digestCredential(apiKey) };
}

function expired(atMs: number): InvalidError {
  const found = Number.isNaN(atMs) ? "an invalid time" : toIso(atMs);
  const message = `expected a time in the future, such as 2027-01-31T00:00:00Z, found ${found}`;
  return new InvalidError([{ path: ["expiresAt"], code: "expired", message }]);
}

function tooMany(count: number): InvalidError {
  const most = `expected at most ${apiKeysMax} API keys per account`;
  const message = `${most}, found ${count}: revoke one first`;
  return new InvalidError([{ path: ["name"], code: "too_many", message }]);
}
