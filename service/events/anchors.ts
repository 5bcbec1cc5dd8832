// Notices reorganisations: the newest 256 blocks at which something was read are kept with their
// hashes. While the newest of them is in the chain, so are all below it.

import type { Kysely } from "kysely";
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
  const fallen: number[] = [];
  for (const { number, hash } of anchors) {
    if ((await hashAt(number)) === hash) {
      stands = number;
      break;
    }
    fallen.push(number);
  }
  if (fallen.length === 0) return undefined;
  await db.transaction().execute(async (transaction) => {
    const due = transaction
      .updateTable("watches")
      .set({ due_block: 0, looks: 0 })
      .where("chain_id", "=", chainId);
    // Block by block, so that nobody waits for all of them.
    for (const number of fallen) await due.where("block_number", "=", number).execute();
    if (stands < 0) await due.where("block_number", "<", fallen.at(-1)!).execute();
    await transaction
      .deleteFrom("watch_anchors")
      .where("chain_id", "=", chainId)
      .where("number", ">", stands)
      .execute();
  });
  return stands;
}
