// Stores the anchors of a chain. An anchor is the number and hash of a block. The service has read
// the chain's logs up to this block. The newest 256 anchors are stored.

import type { Hex } from "executable-address";
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import type { Tables } from "../store/tables.ts";
import type { Anchor } from "./payment.ts";

const storedAnchorsMax = 256;

/** Returns the newest anchor, or the newest anchor below block `before`. */
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

/**
 * Returns SQL for the number of the chain's newest anchor. The value is null if the chain has no
 * anchor.
 */
export const newestAnchorOf = (chainId: RawBuilder<unknown>) =>
  sql<number | null>`(select max(number) from anchors where anchors.chain_id = ${chainId})`;

/**
 * Saves an anchor. If there is an anchor with the same number, it is replaced. The call is
 * idempotent.
 */
export async function saveAnchor(
  db: Kysely<Tables>,
  chainId: number,
  { number, hash }: Anchor,
): Promise<void> {
  await db
    .insertInto("anchors")
    .values({ chain_id: chainId, number, hash })
    .onConflict((conflict) => conflict.columns(["chain_id", "number"]).doUpdateSet({ hash }))
    .execute();
  const oldest = await db
    .selectFrom("anchors")
    .select("number")
    .where("chain_id", "=", chainId)
    .orderBy("number", "desc")
    .offset(storedAnchorsMax)
    .limit(1)
    .executeTakeFirst();
  if (!oldest) return;
  await db
    .deleteFrom("anchors")
    .where("chain_id", "=", chainId)
    .where("number", "<=", oldest.number)
    .execute();
}

/**
 * Returns whether the anchor is still stored. Locks the anchor's row until the transaction ends, so
 * that no other transaction deletes it. Uses an UPDATE to lock the row, because an UPDATE works on
 * both SQLite and PostgreSQL.
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
