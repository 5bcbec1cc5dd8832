// Rotation: a new credential replaces the old one at once, on every server, because no server
// caches credentials (spec §5, rule 5). It is one compare-and-swap of one row: the request names
// the credential to be replaced, and of two requests at once the second finds it gone.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, appendAudit } from "./audit.ts";
import { apiKeyPrefix, digestOf, newApiKey, newClientId } from "./credentials.ts";

/**
 * Replaces the API key that begins with `expectedPrefix`, or makes the first one.
 * @param expectedPrefix null where the account is to have no key yet
 * @returns the new key, shown here and never again; undefined when the account has another key
 */
export async function rotateApiKey(
  db: Kysely<Tables>,
  accountId: string,
  expectedPrefix: string | null,
  actor: Actor,
): Promise<{ apiKey: string; prefix: string } | undefined> {
  const apiKey = newApiKey();
  const prefix = apiKeyPrefix(apiKey);
  const digest = digestOf(apiKey);
  return db.transaction().execute(async (transaction) => {
    const changed =
      expectedPrefix === null
        ? await transaction
            .insertInto("api_keys")
            .values({ account_id: accountId, digest, prefix, created_at: actor.atMs })
            .onConflict((conflict) => conflict.column("account_id").doNothing())
            .executeTakeFirst()
        : await transaction
            .updateTable("api_keys")
            .set({
              digest,
              prefix,
              rotated_at: actor.atMs,
              last_used_at: null,
              seen_in_browser_at: null,
            })
            .where("account_id", "=", accountId)
            .where("prefix", "=", expectedPrefix)
            .executeTakeFirst();
    if (rowsOf(changed) === 0) return undefined;
    const event = expectedPrefix === null ? "api_key_created" : "api_key_rotated";
    await appendAudit(transaction, accountId, event, actor, prefix);
    return { apiKey, prefix };
  });
}

/**
 * Replaces `expected`, the account's client ID, or makes the first one.
 * @param expected null where the account is to have none yet
 * @returns undefined when the account has another one
 */
export async function rotateClientId(
  db: Kysely<Tables>,
  accountId: string,
  expected: string | null,
  actor: Actor,
): Promise<{ clientId: string } | undefined> {
  const clientId = newClientId();
  const digest = digestOf(clientId);
  return db.transaction().execute(async (transaction) => {
    const changed =
      expected === null
        ? await transaction
            .insertInto("client_ids")
            .values({ account_id: accountId, digest, client_id: clientId, created_at: actor.atMs })
            .onConflict((conflict) => conflict.column("account_id").doNothing())
            .executeTakeFirst()
        : await transaction
            .updateTable("client_ids")
            .set({ client_id: clientId, digest, rotated_at: actor.atMs, last_used_at: null })
            .where("account_id", "=", accountId)
            .where("client_id", "=", expected)
            .executeTakeFirst();
    if (rowsOf(changed) === 0) return undefined;
    const event = expected === null ? "client_id_created" : "client_id_rotated";
    await appendAudit(transaction, accountId, event, actor, clientId);
    return { clientId };
  });
}

type Changed = { numInsertedOrUpdatedRows?: bigint | undefined } | { numUpdatedRows: bigint };

const rowsOf = (changed: Changed) =>
  Number("numUpdatedRows" in changed ? changed.numUpdatedRows : changed.numInsertedOrUpdatedRows);
