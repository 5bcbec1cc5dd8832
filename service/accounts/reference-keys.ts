// Reference keys. An account's reference key is a secret that turns its references into salts, so
// that the account and this service compute the same address for an order. The service uses the
// account's newest key.

import { randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";
import { type Actor, audited } from "./audit.ts";

/**
 * The number of an account's newest keys to try, so that addresses that were created before a
 * rotation are found.
 */
const keysTried = 8;

const newReferenceKey = () => `svc_ref_${randomBytes(32).toString("hex")}`;

/**
 * Returns the account's keys, newest first. Always returns at least one key, because the first key
 * is generated on demand.
 */
export async function findReferenceKeys(
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
 * Creates the key for new salts. Earlier keys still prove the references of addresses that were
 * created with these keys.
 *
 * @returns the key, which cannot be read again; undefined if a simultaneous request created a key
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
