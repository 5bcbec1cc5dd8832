// Notices reorganisations: the newest 256 blocks at which something was read are kept with their
// hashes. While the newest of them is in the chain, so are all below it.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../store/tables.ts";

const anchorsKept = 256;

type Block = { number: number; hash: string };

export async function keepAnchors(
  db: Kysely<Tables>,
  chainId: number,
  blocks: readonly Block[],
): Promise<void> {
  if (blocks.length === 0) return;
  await db
    .insertInto("watch_anchors")
    .values(blocks.map(({ number, hash }) => ({ chain_id: chainId, number, hash })))
    .onConflict((conflict) =>
      conflict
        .columns(["chain_id", "number"])
        .doUpdateSet((eb) => ({ hash: eb.ref("excluded.hash") })),
    )
    .execute();
  const oldest = await db
    .selectFrom("watch_anchors")
    .select("number")
    .where("chain_id", "=", chainId)
    .orderBy("number", "desc")
    .offset(anchorsKept)
    .limit(1)
    .executeTakeFirst();
  if (!oldest) return;
  await db
    .deleteFrom("watch_anchors")
    .where("chain_id", "=", chainId)
    .where("number", "<=", oldest.number)
    .execute();
}

/**
 * After a reorganisation all that was observed above the newest anchor that still stands is due.
 * @param hashAt of the chain as it is now; undefined above its head
 * @returns the block above which it was reorganised, if it was
 */
export async function checkAnchors(
  db: Kysely<Tables>,
  chainId: number,
  hashAt: (number: number) => Promise<string | undefined>,
): Promise<number | undefined> {
  const anchors = await db
    .selectFrom("watch_anchors")
    .select(["number", "hash"])
    .where("chain_id", "=", chainId)
    .orderBy("number", "desc")
    .execute();
  let stands = -1;
  const fallen: Block[] = [];
  for (const anchor of anchors) {
    if ((await hashAt(anchor.number)) === anchor.hash) {
      stands = anchor.number;
      break;
    }
    fallen.push(anchor);
  }
  if (fallen.length === 0) return undefined;
  await makeDueAbove(db, chainId, stands);
  // Last, so that it is repeated after a crash; and not what another observer has kept meanwhile.
  await db
    .deleteFrom("watch_anchors")
    .where("chain_id", "=", chainId)
    .where("number", ">", stands)
    .where(
      "hash",
      "in",
      fallen.map(({ hash }) => hash),
    )
    .execute();
  return stands;
}

/** Of one commit, for which creates wait: deep down it may be whatever an account ever had. */
const stepRows = 100;

type Place = { block_number: number | null; account_id: string; address: Uint8Array };

/** What was observed above a block, in the order of blocks. */
async function makeDueAbove(db: Kysely<Tables>, chainId: number, block: number): Promise<void> {
  const key = sql`(block_number, account_id, address)`;
  const placeSql = (place: Place) =>
    sql`(${place.block_number}, ${place.account_id}, ${place.address})`;
  let from: Place = { block_number: block + 1, account_id: "", address: new Uint8Array() };
  for (;;) {
    const some = await db
      .selectFrom("watches")
      .select(["block_number", "account_id", "address"])
      .where("chain_id", "=", chainId)
      .where(sql<boolean>`${key} > ${placeSql(from)}`)
      .orderBy("block_number")
      .orderBy("account_id")
      .orderBy("address")
      .limit(stepRows)
      .execute();
    const last = some.at(-1);
    if (!last) return;
    await db
      .updateTable("watches")
      .set({ due_block: 0, looks: 0 })
      .where("chain_id", "=", chainId)
      .where(sql<boolean>`${key} > ${placeSql(from)}`)
      .where(sql<boolean>`${key} <= ${placeSql(last)}`)
      .execute();
    from = last;
  }
}
