// The client ID of an account: rotated, and bound to what the account's servers sign. A rotation
// replaces it at once, on every server, because no server caches credentials (spec §5, rule 5). It
// is one compare-and-swap of one row: the request names the client ID to be replaced, and of two
// requests at once the second finds it gone.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, appendAudit } from "./audit.ts";
import { digestOf, newClientId } from "./credentials.ts";

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
            .values({
              ...{ account_id: accountId, digest, client_id: clientId, created_at: actor.atMs },
              bound: 0,
            })
            .onConflict((conflict) => conflict.column("account_id").doNothing())
            .returning("account_id")
            .execute()
        : await transaction
            .updateTable("client_ids")
            .set({ client_id: clientId, digest, rotated_at: actor.atMs, last_used_at: null })
            .where("account_id", "=", accountId)
            .where("client_id", "=", expected)
            .returning("account_id")
            .execute();
    if (changed.length === 0) return undefined;
    const event = expected === null ? "client_id_created" : "client_id_rotated";
    await appendAudit(transaction, accountId, event, actor, clientId);
    return { clientId };
  });
}

/**
 * Bound, a client ID creates only what a server of the account has signed: a page that everybody
 * can read makes nothing else. A rotation keeps it so.
 */
export async function bindClientId(
  db: Kysely<Tables>,
  accountId: string,
  isBound: boolean,
  actor: Actor,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction
      .updateTable("client_ids")
      .set({ bound: Number(isBound) })
      .where("account_id", "=", accountId)
      .execute();
    const event = isBound ? "client_id_bound" : "client_id_unbound";
    await appendAudit(transaction, accountId, event, actor);
  });
}
