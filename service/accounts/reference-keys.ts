// Stores the reference keys of accounts. A reference key is a secret. The salt of an address is
// derived from the key and a reference (an order number). The account's own server can therefore
// compute the address of an order. New salts are derived with the account's newest key.

import { referenceKeyPattern } from "executable-address/reference";
import type { Kysely } from "kysely";
import { newId } from "../flow/new-id.ts";
import type { Tables } from "../store/tables.ts";
import { type Actor, audited } from "./audit.ts";

/**
 * How many of the account's newest keys the service tries for a repeated create request. The first
 * request may have used an earlier key, because the account can rotate its key.
 */
const keysTried = 8;

const newReferenceKey = () => newId(referenceKeyPattern);

/**
 * Returns at most {@link keysTried} of the account's keys, newest first. If the account has no key,
 * generates its first key.
 */
export async function ensureReferenceKeys(
  db: Kysely<Tables>,
  accountId: string,
  nowMs: number,
): Promise<[string, ...string[]]> {
  const [newest, ...older] = await readKeys(db, accountId);
  if (newest !== undefined) return [newest, ...older];
  await insertKey(db, accountId, 1, newReferenceKey(), nowMs);
  return (await readKeys(db, accountId)) as [string, ...string[]];
}

/**
 * Creates a key, from which all new salts are derived. Only the newest key verifies signatures.
 * Earlier keys remain stored, so that repeated create requests still return their addresses ({@link
 * keysTried}).
 *
 * @returns the key, or undefined if another request created a key simultaneously
 */
export async function rotateReferenceKey(
  db: Kysely<Tables>,
  accountId: string,
  actor: Actor,
): Promise<{ referenceKey: string } | undefined> {
  const referenceKey = newReferenceKey();
  const rotation = { accountId, event: "reference_key_rotated", actor } as const;
  const isMade = await audited(db, rotation, async (transaction) => {
    const last = await transaction
      .selectFrom("reference_keys")
      .select("number")
      .where("account_id", "=", accountId)
      .orderBy("number", "desc")
      .limit(1)
      .executeTakeFirst();
    const number = Number(last?.number ?? 0) + 1;
    return insertKey(transaction, accountId, number, referenceKey, actor.atMs);
  });
  return isMade ? { referenceKey } : undefined;
}

async function readKeys(db: Kysely<Tables>, accountId: string): Promise<string[]> {
  const rows = await db
    .selectFrom("reference_keys")
    .select("key")
    .where("account_id", "=", accountId)
    .orderBy("number", "desc")
    .limit(keysTried)
    .execute();
  return rows.map(({ key }) => key);
}

async function insertKey(
  db: Kysely<Tables>,
  account_id: string,
  number: number,
  key: string,
  created_at: number,
): Promise<boolean> {
  const inserted = await db
    .insertInto("reference_keys")
    .values({ account_id, number, key, created_at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Boolean(inserted.numInsertedOrUpdatedRows);
}
