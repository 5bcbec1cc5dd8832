// The newest 256 blocks up to which a chain was read, with their hashes, so that after a
// reorganization reading continues from the newest that is still on the chain.

import type { Hex } from "executable-address";
import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../store/tables.ts";
import type { Anchor } from "./parts.ts";

const anchorsKept = 256;

/** The newest anchor, or the newest below `before`. */
export async function findAnchor(
  db: Kysely<Tables>,
  chainId: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<Anchor | undefined> {
  const row = await db
    .selectFrom("anchors")
    .select(["number", "hash"])
    .where("chain_id", "=", chainId)
    .where("number", "<", before)
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && { number: row.number, hash: row.hash as Hex };
}

/** The call is idempotent; another hash for the same number replaces the first. */
export async function keepAnchor(
  db: Kysely<Tables>,
  chainId: number,
  { number, hash }: Anchor,
): Promise<void> {
  await db
    .insertInto("anchors")
    .values({ chain_id: chainId, number, hash })
    .onConflict((conflict) => conflict.columns(["chain_id", "number"]).doUpdateSet({ hash }))
    .execute();
  const kept = await db
    .selectFrom("anchors")
    .select("number")
    .where("chain_id", "=", chainId)
    .orderBy("number", "desc")
    .offset(anchorsKept)
    .limit(1)
    .executeTakeFirst();
  if (!kept) return;
  await db
    .deleteFrom("anchors")
    .where("chain_id", "=", chainId)
    .where("number", "<=", kept.number)
    .execute();
}

/**
 * Returns whether the anchor is still kept. Until the end of the transaction no reorganization can
 * remove it: the row is written, which locks it on both databases.
 */
export async function lockAnchor(
  transaction: Transaction<Tables>,
  chainId: number,
  { number, hash }: Anchor,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("anchors")
    .set({ hash })
    .where("chain_id", "=", chainId)
    .where("number", "=", number)
    .where("hash", "=", hash)
    .executeTakeFirst();
  return Boolean(numUpdatedRows);
}

export async function forgetAnchorsAbove(
  db: Kysely<Tables>,
  chainId: number,
  number: number,
): Promise<void> {
  await db
    .deleteFrom("anchors")
    .where("chain_id", "=", chainId)
    .where("number", ">", number)
    .execute();
}
