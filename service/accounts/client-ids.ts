// The client ID of an account: rotated, and bound to what the account's servers sign. A rotation
// replaces it at once, on every server, because no server caches credentials (spec §5, rule 5). It
// is one compare-and-swap of one row: the request names the client ID to be replaced, and of two
// requests at once the second finds it gone.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, appendAudit } from "./audit.ts";
import { digestOf, newClientId } from "./credentials.ts";

/** Replaces `expected`, the account's client ID. @returns undefined when it has another one */
export async function rotateClientId(
  db: Kysely<Tables>,
  accountId: string,
  expected: string,
  actor: Actor,
): Promise<{ clientId: string } | undefined> {
  const clientId = newClientId();
  const digest = digestOf(clientId);
  return db.transaction().execute(async (transaction) => {
    const changed = await transaction
      .updateTable("client_ids")
      .set({ client_id: clientId, digest, rotated_at: actor.atMs, last_used_at: null })
      .where("account_id", "=", accountId)
      .where("client_id", "=", expected)
      .executeTakeFirst();
    if (changed.numUpdatedRows === 0n) return undefined;
    await appendAudit(transaction, accountId, "client_id_rotated", actor, clientId);
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
