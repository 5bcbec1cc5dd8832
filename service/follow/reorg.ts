// Finds where reading goes on: a little below the newest anchor that still stands. What rests on
// blocks above it is taken back first.

import { blockCall, blockOf, resultOf } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { Anchor, FollowMemory, Turn } from "./parts.ts";

/** No payment is older than the oldest record; the margin allows for clocks that differ. */
const startMarginSeconds = 3600;
/** If no anchor stands any more, reading begins this far below the oldest of them. */
const deepReorgBlocks = 256;

/** The first block to read. Takes back what no longer stands. */
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

/** Notes what the head says of the block below it; what does not lead up to it is forgotten. */
export async function noteLinks({ view, memory: { links } }: Turn): Promise<void> {
  const { number, hash, parentHash } = view.head;
  if (links.get(number - 1) !== parentHash && !(await isSecondNext(view, links))) links.clear();
  for (const each of links.keys()) {
    if (each > number || each < number - linksMax) links.delete(each);
  }
  links.set(number, hash).set(number - 1, parentHash);
}

/**
 * Whether two blocks came at once. Nothing that was read here is kept: a false answer costs what is
 * known, and puts nothing false in its place.
 */
async function isSecondNext({ head, read }: View, links: FollowMemory["links"]): Promise<boolean> {
  const { number, parentHash } = head;
  const known = links.get(number - 2);
  if (!known || links.has(number - 1)) return false;
  const [answer] = await read([blockCall(number - 1)]);
  const block = blockOf(resultOf(answer));
  return block.hash === parentHash && block.parentHash === known;
}

/** Whether the block is in the chain of the view's head. */
export async function stands({ view, memory }: Turn, { number, hash }: Anchor): Promise<boolean> {
  if (number > view.head.number) return false;
  const known = memory.links.get(number);
  if (known) return known === hash;
  const [answer] = await view.read([blockCall(number)]);
  return blockOf(resultOf(answer)).hash === hash;
}

/** Finds the beginning without an anchor: the head, or, if there are records, before the oldest. */
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
