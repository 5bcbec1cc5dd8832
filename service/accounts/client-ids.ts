// Rotates the client ID of an account, and changes the settings of the client ID. Servers do not
// cache credentials (spec §5, rule 5), so the old client ID stops working immediately. A rotation
// request contains the old client ID. Therefore, only the first of two simultaneous rotations
// succeeds.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, type AuditEvent, audited } from "./audit.ts";
import { digestCredential, newClientId } from "./credentials.ts";

/**
 * Replaces the account's client ID if the current client ID is `expected`.
 *
 * @returns the new client ID, or undefined if the account's client ID is not `expected`
 */
export async function rotateClientId(
  db: Kysely<Tables>,
  accountId: string,
  expected: string,
  actor: Actor,
): Promise<{ clientId: string } | undefined> {
  const clientId = newClientId();
  const digest = digestCredential(clientId);
  const rotation = { accountId, event: "client_id_rotated", actor, detail: clientId } as const;
  const isRotated = await audited(db, rotation, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("client_ids")
      .set({ client_id: clientId, digest, rotated_at: actor.atMs, last_used_at: null })
      .where("account_id", "=", accountId)
      .where("client_id", "=", expected)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });
  return isRotated ? { clientId } : undefined;
}

/**
 * Sets whether the client ID is bound. With a bound client ID, visitors can create only addresses
 * whose intents the account's server has signed. A visitor who copies the client ID from a page
 * cannot create addresses for other intents. Rotating the client ID keeps this setting.
 */
export function bindClientId(
  db: Kysely<Tables>,
  accountId: string,
  isBound: boolean,
  actor: Actor,
): Promise<void> {
  const event = isBound ? "client_id_bound" : "client_id_unbound";
  return setClientId(db, accountId, { bound: Number(isBound) }, event, actor);
}

/**
 * Sets whether create requests with the client ID may set a reference. Rotating the client ID keeps
 * this setting.
 */
export function allowReferences(
  db: Kysely<Tables>,
  accountId: string,
  isAllowed: boolean,
  actor: Actor,
): Promise<void> {
  const event = isAllowed ? "client_id_references_allowed" : "client_id_references_refused";
  return setClientId(db, accountId, { may_name: Number(isAllowed) }, event, actor);
}

async function setClientId(
  db: Kysely<Tables>,
  accountId: string,
  values: { bound: number } | { may_name: number },
  event: AuditEvent,
  actor: Actor,
): Promise<void> {
  await audited(db, { accountId, event, actor }, async (transaction) => {
    const update = transaction.updateTable("client_ids").set(values);
    const { numUpdatedRows } = await update.where("account_id", "=", accountId).executeTakeFirst();
    return numUpdatedRows > 0n;
  });
}
