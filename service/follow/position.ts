// Determines the position from which a sweep reads blocks. After a reorganization, `settlePosition`
// finds the newest anchor that is still in the chain. It also removes all data from later blocks.
// The scan then continues a few blocks below this anchor.

import { findFirstBlock } from "executable-address/status";
import { blockCall, parseBlock } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { SweepContext } from "./context.ts";
import type { FollowMemory } from "./memory.ts";
import type { Anchor } from "./payment.ts";

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
  next: number;
  /** The newest anchor's number. If there is no anchor, the number of the block before `next`. */
  cursor: number;
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
