// Stores the anchors of a chain, and determines from them the position from which a sweep reads
// blocks. An anchor is the number and hash of a block. The service has read the chain's logs up to
// this block. The newest `storedAnchorsMax` anchors are stored. After a reorganization,
// `settlePosition` finds the newest anchor that is still in the chain. It also removes all data
// from later blocks. The scan then continues a few blocks below this anchor.

import type { Hex } from "executable-address";
import { findFirstBlock } from "executable-address/status";
import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { blockCall, parseBlock } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { Tables } from "../store/tables.ts";
import type { FollowMemory, SweepContext } from "./context.ts";
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

/**
 * Without an anchor, the scan starts at a block that is this much older than the oldest record.
 * Payments are expected only after their record's creation. The margin allows for different clocks
 * of the host and the chain.
 */
const startMarginSeconds = 3600;
/**
 * After a reorganization that removed the blocks of all anchors, the scan resumes at this distance
 * below the oldest anchor. If all anchors are above the newest block, the distance is measured from
 * the newest block that has enough confirmations.
 */
const deepReorgBlocks = 256;

/** The position from which a sweep reads blocks. */
export type Position = {
  /** The next block to read. */
  readonly next: number;
  /** The newest anchor's number. If there is no anchor, the number of the block before `next`. */
  readonly cursor: number;
};

/**
 * Determines the position from which to read blocks. After a reorganization, also removes the data
 * from blocks that were replaced.
 *
 * @returns the position; `aheadBlocks` is the newest anchor's number minus the newest block's
 *   number, or 0 without an anchor
 */
export async function settlePosition(
  context: SweepContext,
  target: number,
): Promise<Position & { aheadBlocks: number }> {
  const { store, view, tuning, memory } = context;
  const head = view.head.number;
  const newest = await store.findAnchor();
  if (!newest) {
    const next = await startBlock(context, target);
    return { next, cursor: next - 1, aheadBlocks: 0 };
  }
  const aheadBlocks = newest.number - head;
  const below = aheadBlocks > 0 ? await store.findAnchor(head + 1) : newest;
  if (!below) {
    return { next: Math.max(0, target - deepReorgBlocks), cursor: newest.number, aheadBlocks };
  }
  let found: Anchor | undefined = below;
  let oldest = below;
  while (found && !(await isAncestor(context, found))) {
    oldest = found;
    found = await store.findAnchor(found.number);
  }
  const number = found?.number ?? Math.max(0, oldest.number - deepReorgBlocks);
  const isLost = found !== below;
  if (isLost) await goBackTo(context, number);
  const again = Math.min(number, target) + 1 - tuning.resweepBlocks;
  const next = Math.max(0, again, Math.min(memory.heavyBlock, number) + 1);
  const cursor = isLost ? (found?.number ?? next - 1) : newest.number;
  return { next, cursor, aheadBlocks };
}

/** Removes the data of all blocks above `number`, because these blocks may have been replaced. */
async function goBackTo({ store, memory, report }: SweepContext, number: number): Promise<void> {
  await store.undoAbove(number);
  memory.heavyBlock = Math.min(memory.heavyBlock, number);
  for (const [name, end] of memory.shown) if (end.number > number) memory.shown.delete(name);
  for (const [hash, { blockNumber }] of memory.savedLogs) {
    // A removed block can become part of the chain again. The payments in this block must then be
    // saved again.
    if (blockNumber > number) memory.savedLogs.delete(hash);
  }
  report({ kind: "reorg", fromBlock: number + 1 });
}

const linksMax = 64;

/**
 * Stores the hashes of the newest block and its parent in `links`. Keeps older hashes only if their
 * blocks are certainly ancestors of the newest block.
 */
export async function noteLinks({ view, memory: { links } }: SweepContext): Promise<void> {
  const { number, hash, parentHash } = view.head;
  if (links.get(number - 1) !== parentHash && !(await isSecondNext(view, links))) links.clear();
  for (const each of links.keys()) {
    if (each > number || each < number - linksMax) links.delete(each);
  }
  links.set(number, hash).set(number - 1, parentHash);
}

/**
 * Returns whether `links` contains the grandparent of the newest block. To find out, reads the
 * newest block's parent, which is not in `links`.
 */
async function isSecondNext({ head, read }: View, links: FollowMemory["links"]): Promise<boolean> {
  const { number, parentHash } = head;
  const known = links.get(number - 2);
  if (!known || links.has(number - 1)) return false;
  const [answer] = await read([blockCall(number - 1)]);
  const block = parseBlock(answer);
  return block.hash === parentHash && block.parentHash === known;
}

/** Returns whether the block is in the current chain. */
export async function isAncestor(
  { view, memory }: SweepContext,
  { number, hash }: Anchor,
): Promise<boolean> {
  if (number > view.head.number) return false;
  const known = memory.links.get(number);
  if (known) return known === hash;
  const [answer] = await view.read([blockCall(number)]);
  return parseBlock(answer).hash === hash;
}

/**
 * Returns the first block to read if there is no anchor. This block is an hour older than the
 * oldest record. Without records, the block is near the newest block.
 */
async function startBlock({ store, tuning, view }: SweepContext, target: number): Promise<number> {
  const oldest = await store.findOldestCreation();
  if (oldest === undefined) return Math.max(0, target + 1 - tuning.resweepBlocks);
  const latestSeconds = oldest - startMarginSeconds;
  const first = await findFirstBlock({ from: 1, to: Math.max(0, target) + 1 }, async (number) => {
    const [answer] = await view.read([blockCall(number)]);
    return parseBlock(answer).timestamp > latestSeconds;
  });
  return first - 1;
}
