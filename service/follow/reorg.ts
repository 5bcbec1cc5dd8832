// Finds where reading continues: a little below the newest anchor that is still on the chain. Facts
// from blocks above it are undone first.

import { blockCall, blockOf, resultOf } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { Anchor, FollowMemory, Turn } from "./parts.ts";

/** No payment is older than the oldest record; the margin allows for clocks that differ. */
const startMarginSeconds = 3600;
/** If no anchor is on the chain anymore, reading starts this far below the oldest one. */
const deepReorgBlocks = 256;

/** Returns the first block to read, after it undid facts from replaced blocks. */
export async function firstBlock(turn: Turn, target: number): Promise<number> {
  const { store, view, tuning, memory } = turn;
  let anchor = await store.findAnchor(view.head.number + 1);
  if (!anchor) {
    const later = await store.findAnchor();
    return later ? Math.max(0, target - deepReorgBlocks) : startBlock(turn, target);
  }
  let isLost = false;
  while (anchor && !(await stands(turn, anchor))) {
    isLost = true;
    const before: Anchor | undefined = await store.findAnchor(anchor.number);
    if (!before) {
      anchor = { number: Math.max(0, anchor.number - deepReorgBlocks), hash: "0x" };
      break;
    }
    anchor = before;
  }
  if (isLost) await goBackTo(turn, anchor!.number);
  const { number } = anchor!;
  const again = Math.min(number, target) + 1 - tuning.resweepBlocks;
  return Math.max(0, again, Math.min(memory.heavyBlock, number) + 1);
}

/** Blocks above `number` may have been replaced. */
async function goBackTo({ store, memory, report }: Turn, number: number): Promise<void> {
  await store.undoAbove(number);
  memory.heavyBlock = Math.min(memory.heavyBlock, number);
  for (const [name, end] of memory.shown) if (end.number > number) memory.shown.delete(name);
  report({ kind: "reorg", fromBlock: number + 1 });
}

const linksMax = 64;

/** Records the head and its parent, and forgets the known blocks if they do not lead to it. */
export async function noteLinks({ view, memory: { links } }: Turn): Promise<void> {
  const { number, hash, parentHash } = view.head;
  if (links.get(number - 1) !== parentHash && !(await isSecondNext(view, links))) links.clear();
  for (const each of links.keys()) {
    if (each > number || each < number - linksMax) links.delete(each);
  }
  links.set(number, hash).set(number - 1, parentHash);
}

/**
 * Returns whether two blocks arrived since the last turn, of which the older is the child of a
 * known block. The block that is read here is not stored, so a false answer only discards links.
 */
async function isSecondNext({ head, read }: View, links: FollowMemory["links"]): Promise<boolean> {
  const { number, parentHash } = head;
  const known = links.get(number - 2);
  if (!known || links.has(number - 1)) return false;
  const [answer] = await read([blockCall(number - 1)]);
  const block = blockOf(resultOf(answer));
  return block.hash === parentHash && block.parentHash === known;
}

/** Returns whether the block is an ancestor of the view's head. */
export async function stands({ view, memory }: Turn, { number, hash }: Anchor): Promise<boolean> {
  if (number > view.head.number) return false;
  const known = memory.links.get(number);
  if (known) return known === hash;
  const [answer] = await view.read([blockCall(number)]);
  return blockOf(resultOf(answer)).hash === hash;
}

/**
 * Finds the start if there is no anchor: the head, or, if there are records, before the oldest one.
 */
async function startBlock({ store, tuning, view }: Turn, target: number): Promise<number> {
  const oldest = await store.findOldestCreation();
  if (oldest === undefined) return Math.max(0, target + 1 - tuning.resweepBlocks);
  let [low, high] = [0, Math.max(0, target)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const [answer] = await view.read([blockCall(middle)]);
    if (blockOf(resultOf(answer)).timestamp <= oldest - startMarginSeconds) low = middle;
    else high = middle - 1;
  }
  return low;
}
