// Stores the origins that an account allows for its client ID. An account has at most `originsMax`
// origins, in canonical form (origins.ts).

import { InvalidError, type Issue } from "executable-address";
import type { Kysely } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { type Actor, appendAudit } from "../audit.ts";
import { canonicalList, judgeOrigin, originsMax } from "./origins.ts";

export type AllowedOrigin = { origin: string; createdAtMs: number };

/** Lists the account's origins in the order in which they were added. */
export async function listOrigins(db: Kysely<Tables>, accountId: string): Promise<AllowedOrigin[]> {
  const rows = await db
    .selectFrom("origins")
    .select(["origin", "created_at"])
    .where("account_id", "=", accountId)
    .orderBy("created_at")
    .orderBy("origin")
    .execute();
  return rows.map((row) => ({ origin: row.origin, createdAtMs: Number(row.created_at) }));
}

/**
 * Adds an origin that {@link judgeOrigin} accepts. Does nothing if the origin is already allowed.
 * @throws {InvalidError} if the entry is not accepted, or if the account already has
 *   {@link originsMax} origins
 */
export async function addOrigin(
  db: Kysely<Tables>,
  accountId: string,
  entry: unknown,
  actor: Actor,
): Promise<AllowedOrigin[]> {
  const verdict = judgeOrigin(entry);
  if (verdict.kind === "refused") {
    const { code, message } = verdict;
    throw new InvalidError([{ path: ["origin"], code, message }]);
  }
  return change(db, accountId, async (transaction) => {
    const current = await listOrigins(transaction, accountId);
    if (current.some(({ origin }) => origin === verdict.canonical)) return;
    const full = findTooMany(current.length);
    if (full) throw new InvalidError([full]);
    await insert(transaction, accountId, [verdict.canonical], actor);
    await appendAudit(transaction, accountId, "origin_added", actor, verdict.canonical);
  });
}

/**
 * Removes `origin`, which must be in canonical form. Does nothing if the origin is not in the list.
 */
export async function removeOrigin(
  db: Kysely<Tables>,
  accountId: string,
  origin: string,
  actor: Actor,
): Promise<AllowedOrigin[]> {
  return change(db, accountId, async (transaction) => {
    const deleted = await transaction
      .deleteFrom("origins")
      .where("account_id", "=", accountId)
      .where("origin", "=", origin)
      .executeTakeFirst();
    if (deleted.numDeletedRows === 0n) return;
    await appendAudit(transaction, accountId, "origin_removed", actor, origin);
  });
}

/**
 * Replaces the whole list.
 * @throws {InvalidError} with the index of each invalid entry; the list then remains unchanged
 */
export async function setOrigins(
  db: Kysely<Tables>,
  accountId: string,
  entries: readonly unknown[],
  actor: Actor,
): Promise<AllowedOrigin[]> {
  const list = canonicalList(entries);
  if (list.issues.length > 0) throw new InvalidError(list.issues);
  return change(db, accountId, async (transaction) => {
    await transaction.deleteFrom("origins").where("account_id", "=", accountId).execute();
    await insert(transaction, accountId, list.origins, actor);
    await appendAudit(transaction, accountId, "origins_set", actor, list.origins.join(" "));
  });
}

/**
 * Runs `work` in a transaction that first writes to the account's row. The write locks the row, so
 * two servers cannot change an account's origins simultaneously.
 */
async function change(
  db: Kysely<Tables>,
  accountId: string,
  work: (transaction: Kysely<Tables>) => Promise<void>,
): Promise<AllowedOrigin[]> {
  return db.transaction().execute(async (transaction) => {
    await transaction
      .updateTable("accounts")
      .set((eb) => ({ created_at: eb.ref("created_at") }))
      .where("id", "=", accountId)
      .execute();
    await work(transaction);
    return listOrigins(transaction, accountId);
  });
}

async function insert(db: Kysely<Tables>, accountId: string, origins: string[], actor: Actor) {
  if (origins.length === 0) return;
  const rows = origins.map((origin) => ({ account_id: accountId, origin, created_at: actor.atMs }));
  await db.insertInto("origins").values(rows).execute();
}

/** Returns the fault of another origin if the account already has the maximum number. */
export function findTooMany(count: number): Issue | undefined {
  if (count < originsMax) return undefined;
  const message = `the account already allows ${count} of at most ${originsMax} origins`;
  return { path: ["origin"], code: "too_many", message: `${message}: remove one first` };
}
