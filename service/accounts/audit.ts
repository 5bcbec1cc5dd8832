// The audit log of an account. It contains sign-ins, and changes of names, credentials, origins,
// and webhook endpoints. Each entry has a time and an IP address. Rows are never changed or
// deleted.

import { randomBytes } from "node:crypto";
import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../store/tables.ts";

export type AuditEvent =
  | "account_created"
  | "name_confirmed"
  | "name_removed"
  | "signed_in"
  | "signed_out"
  | "session_ended"
  | "password_changed"
  | "password_reset"
  | "reset_link_made"
  | "api_key_created"
  | "api_key_rotated"
  | "api_key_revoked"
  | "client_id_rotated"
  | "client_id_bound"
  | "client_id_unbound"
  | "client_id_references_allowed"
  | "client_id_references_refused"
  | "reference_key_rotated"
  | "origin_added"
  | "origin_removed"
  | "origins_set"
  | "webhook_added"
  | "webhook_removed"
  | "webhook_rotated"
  | "webhook_paused"
  | "webhook_resumed";

/**
 * The person who makes a change, and the time of the change. An operator's command has no `ip`.
 * `atMs` is in Unix milliseconds.
 */
export type Actor = { ip?: string | undefined; userAgent?: string | undefined; atMs: number };

type AuditEntry = {
  id: string;
  atMs: number;
  event: AuditEvent;
  ip: string | null;
  detail: string | null;
};

/**
 * Adds one entry.
 * @param detail the changed thing, such as a key's prefix or a URL; never a secret
 */
export async function appendAudit(
  db: Kysely<Tables>,
  accountId: string,
  event: AuditEvent,
  actor: Actor,
  detail?: string,
): Promise<void> {
  await db
    .insertInto("audit")
    .values({
      id: auditId(actor.atMs),
      account_id: accountId,
      at: actor.atMs,
      event,
      ip: actor.ip ?? null,
      detail: detail ?? null,
    })
    .execute();
}

type AuditedChange = { accountId: string; event: AuditEvent; actor: Actor; detail?: string };

/**
 * Makes a change and adds its audit entry in one transaction.
 *
 * @param change makes the change; returns false if nothing changed, so that no entry is added
 * @returns the result of `change`
 */
export function audited(
  db: Kysely<Tables>,
  { accountId, event, actor, detail }: AuditedChange,
  change: (transaction: Transaction<Tables>) => Promise<boolean>,
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const isChanged = await change(transaction);
    if (isChanged) await appendAudit(transaction, accountId, event, actor, detail);
    return isChanged;
  });
}

/** Returns an ID that sorts by time: 13 digits of milliseconds, then 8 random hex digits. */
const auditId = (atMs: number) =>
  `${String(Math.trunc(atMs)).padStart(13, "0")}-${randomBytes(4).toString("hex")}`;

/**
 * Lists the entries of an account, newest first.
 *
 * @param page omit `cursor` for the first page; then pass the last returned entry's `id`
 */
export async function listAudit(
  db: Kysely<Tables>,
  accountId: string,
  page: { cursor?: string | undefined; limit: number },
): Promise<AuditEntry[]> {
  let query = db
    .selectFrom("audit")
    .select(["id", "at", "event", "ip", "detail"])
    .where("account_id", "=", accountId);
  if (page.cursor !== undefined) query = query.where("id", "<", page.cursor);
  const rows = await query.orderBy("id", "desc").limit(page.limit).execute();
  return rows.map(({ at, event, ...row }) => ({
    ...row,
    atMs: Number(at),
    event: event as AuditEvent,
  }));
}
