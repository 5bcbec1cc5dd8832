// Finds payments in the transfer logs of tokens. A sweep reads the blocks after the cursor, which
// is the newest anchor (anchors.ts). Transfers to this service's addresses are saved as payments. A
// payment only triggers a later read of the address's balance. All further decisions depend on the
// balance. So an invented log causes only an unnecessary read. A missing log would hide a payment.
// So the cursor normally moves past a block only after a quorum has returned its logs.
//
// The limits of a provider do not stop the scan. If an endpoint refuses a range of blocks, smaller
// parts are requested and saved. A single block becomes a gap if refusals leave too few endpoints
// for a quorum. The cursor moves past a gap. Payments may be missing, so the balances of all
// records of the chain are read.
//
// If one query cannot contain all unread blocks, the newest blocks are read first. New payments
// then do not wait for the older blocks. The logs of the newest blocks are used only to choose the
// balances to read. The cursor does not move, and these blocks are read again after the older
// blocks.

import { blockCall, parseBlock } from "../chain/rpc/json-rpc.ts";
import { isAncestor, noteLinks, type Position, settlePosition } from "./anchors.ts";
import type { SweepContext } from "./context.ts";
import { noteDelisted, noteRecipients } from "./logs.ts";
import type { Anchor, Payment, Range } from "./payment.ts";
import {
  computeRangeBlocks,
  explainNoQuorum,
  readRange,
  type Shown,
  shrinkRange,
} from "./range.ts";

/**
 * Normally, an anchor is saved only after a quorum has returned all blocks up to the anchor. An
 * anchor needs no quorum at a gap, or if the sweep continues for more than this number of blocks.
 */
const uncorroboratedBlocksMax = 256;
/**
 * A sweep of at most this number of blocks, in one query, needs only one endpoint's logs. Any other
 * sweep needs logs from a quorum.
 */
const tipBlocksMax = 32;
/**
 * The maximum number of blocks that the endpoints' newest block can be below the newest anchor
 * while the endpoints count as behind. If the difference is larger, the chain was reset or the
 * anchor was wrong.
 */
const lagBlocksMax = 64;
/**
 * A sweep first reads at most this number of ranges near the newest block, and then older blocks.
 */
const tipRangesMax = 3;
/** A block becomes a gap if no endpoint returns its logs in this number of sweeps. */
const refusalsMax = 3;

/**
 * Reads the logs up to the newest block that has enough confirmations, and saves the payments.
 *
 * @returns All blocks up to `upTo` have been read. `isOld` is true if the newest anchor is above
 *   the endpoints' newest block, by at most {@link lagBlocksMax} blocks.
 */
export async function sweep(context: SweepContext): Promise<{ upTo: number; isOld: boolean }> {
  const { chain, memory, view, tuning } = context;
  const target = view.head.number - chain.paymentConfirmations;
  if (memory.readHead === view.head.hash) return { upTo: target, isOld: false };
  await noteLinks(context);
  await noteRecipients(context);
  await noteDelisted(context);
  const { aheadBlocks, ...start } = await settlePosition(context, target);
  const { cursor } = start;
  memory.sweepNumber++;
  if (!(await readTip(context, cursor, target))) return { upTo: cursor, isOld: false };
  const steps: Steps = {
    target,
    // If few blocks are unread, each sweep asks only the endpoint that is farthest behind. After a
    // few sweeps, two endpoints have returned each block. If many blocks are unread, each sweep
    // asks a quorum, so that the cursor can catch up.
    count: target - cursor <= Math.min(tipBlocksMax, computeRangeBlocks(context)) ? 1 : view.quorum,
    // If the newest anchor is above the newest block, the chain may have been reset. The anchors
    // would then be wrong, and a new anchor could hide the reset.
    savesAnchors: aheadBlocks <= 0,
  };
  let position: Position = start;
  for (let ranges = 0; ranges < tuning.rangesPerPass && position.next <= target; ranges++) {
    const read = await readNext(context, position, steps);
    position = read.position;
    if (read.isOver) break;
  }
  forgetOldLogs(context, target);
  if (aheadBlocks <= 0 && position.cursor >= target) memory.readHead = view.head.hash;
  return { upTo: position.next - 1, isOld: aheadBlocks > 0 && aheadBlocks <= lagBlocksMax };
}

/** `count`: the number of endpoints that must return the logs of each range. */
type Steps = { target: number; count: number; savesAnchors: boolean };

/**
 * Reads the next range of blocks, and saves the payments in this range. If the endpoints refuse the
 * range, the next call requests a smaller range.
 *
 * @returns the new position; `isOver` is true if the sweep must end
 */
async function readNext(
  context: SweepContext,
  position: Position,
  steps: Steps,
): Promise<{ position: Position; isOver: boolean }> {
  const { target, count } = steps;
  const { next, cursor } = position;
  const range = { from: next, to: Math.min(target, next + computeRangeBlocks(context) - 1) };
  const reading = await readRange(context, range, count);
  const { shown, refusal } = reading;
  if (refusal && range.from < range.to) {
    await saveTransfers(context, undefined, shown, false);
    return { position, isOver: !shrinkRange(context, reading, range) };
  }
  if (refusal && range.to <= cursor) {
    // An earlier sweep has already read this block.
    return { position: { cursor, next: range.to + 1 }, isOver: false };
  }
  if (refusal && !countRefusal(context, shown, range.to)) return { position, isOver: true };
  const read = { range, shown, refused: refusal?.message };
  return { position: await movePast(context, cursor, steps, read), isOver: false };
}

/**
 * Saves the transfers of a range. Also saves an anchor if the rules at
 * {@link uncorroboratedBlocksMax} allow it.
 *
 * @param refused the error message of the refusal if the range is a gap; otherwise undefined
 * @returns the position after the range
 */
async function movePast(
  context: SweepContext,
  cursor: number,
  { target, savesAnchors }: Steps,
  { range, shown, refused }: { range: Range; shown: Shown[]; refused: string | undefined },
): Promise<Position> {
  const { memory } = context;
  if (refused !== undefined || shown.some(({ isHeavy }) => isHeavy)) memory.heavyBlock = range.to;
  const end = shown[0]?.end ?? (await readAnchor(context, range.to));
  const message = refused ?? (range.to > cursor ? explainNoQuorum(context) : undefined);
  const isGap = message !== undefined;
  if (isGap) context.report({ kind: "gap", blockNumber: end.number, message });
  for (const { client } of shown) noteShown(context, client.name, range, end, cursor);
  const isDeep = isGap || range.to < target - uncorroboratedBlocksMax;
  const anchor = isDeep ? end : await settleAnchor(context, cursor);
  await saveTransfers(context, savesAnchors ? anchor : undefined, shown, isGap);
  return { cursor: Math.max(cursor, anchor?.number ?? 0), next: range.to + 1 };
}

/**
 * Reads the newest blocks first if one query cannot contain all unread blocks. Reads the blocks
 * that are new since the last call. Also reads a few earlier blocks again, because an endpoint may
 * have indexed their logs late.
 *
 * @returns false if the sweep must end because of a slow endpoint or a rate limit
 */
async function readTip(context: SweepContext, cursor: number, target: number): Promise<boolean> {
  const { memory, store, tuning, view } = context;
  const width = computeRangeBlocks(context);
  if (target - cursor <= width) return true;
  const unread = Math.max(memory.tip + 1 - tuning.resweepBlocks, cursor + 1);
  const lowest = Math.max(unread, target + 1 - tipRangesMax * Math.min(width, tipBlocksMax));
  for (let to = target; to >= lowest; ) {
    const range = { from: Math.max(lowest, to - width + 1), to };
    const reading = await readRange(context, range, view.quorum);
    const paid = new Set(
      reading.shown.flatMap(({ transfers }) => transfers.map((each) => each.address)),
    );
    const known = await store.matchAddresses([...paid]);
    if (known.length > 0) await store.wake(known);
    if (reading.refusal) {
      // If the logs of a single block are refused, the sweep continues with the older blocks. The
      // refused block can be recorded as a gap later, when the cursor reaches it.
      return range.from === to || shrinkRange(context, reading, range);
    }
    to = range.from - 1;
  }
  memory.tip = target;
  return true;
}

/**
 * Counts a sweep in which a block's logs were refused. Returns whether the scan continues, which
 * leaves the block as a gap. Normally, the scan continues after {@link refusalsMax} such sweeps.
 * The scan continues immediately if at least one endpoint returned the logs. It also continues
 * immediately if the preceding block's logs were refused in {@link refusalsMax} sweeps.
 */
function countRefusal({ memory }: SweepContext, shown: readonly Shown[], number: number): boolean {
  const before = memory.refused;
  const isAboveGap = before?.number === number - 1 && before.sweeps >= refusalsMax;
  const sweeps = isAboveGap ? refusalsMax : before?.number === number ? before.sweeps + 1 : 1;
  memory.refused = { number, sweeps };
  return shown.length > 0 || sweeps >= refusalsMax;
}

async function readAnchor({ view }: SweepContext, number: number): Promise<Anchor> {
  if (number === view.head.number) return { number, hash: view.head.hash };
  const [answer] = await view.read([blockCall(number)]);
  return { number, hash: parseBlock(answer).hash };
}

/**
 * Updates the endpoint's progress to `end`, unless blocks are missing between the earlier progress
 * and the range.
 */
function noteShown(
  { memory }: SweepContext,
  name: string,
  { from }: Range,
  end: Anchor,
  cursor: number,
) {
  const before = Math.max(cursor, memory.shown.get(name)?.number ?? cursor);
  if (from <= before + 1) memory.shown.set(name, end);
}

/**
 * Returns the newest block up to which a quorum has returned all logs. Returns undefined if no such
 * block is above the cursor. Forgets the progress of endpoints whose block was replaced.
 */
async function settleAnchor(context: SweepContext, cursor: number): Promise<Anchor | undefined> {
  const { memory, view } = context;
  const newestFirst = [...memory.shown].toSorted(([, a], [, b]) => b.number - a.number);
  let count = 0;
  for (const [name, end] of newestFirst) {
    if (end.number <= cursor) return undefined;
    if (!(await isAncestor(context, end))) memory.shown.delete(name);
    else if (++count === view.quorum) return end;
  }
  return undefined;
}

/**
 * Saves the anchor and the transfers to this service's addresses. Also reports payments to the
 * store as soon as a quorum of endpoints has returned them.
 */
async function saveTransfers(
  context: SweepContext,
  anchor: Anchor | undefined,
  shown: readonly Shown[],
  isGap: boolean,
): Promise<void> {
  const { memory, store, report, view } = context;
  const transfers = shown.flatMap((each) => each.transfers);
  const fresh = new Map(
    transfers
      .filter((transfer) => !memory.savedLogs.get(transfer.blockHash)?.logs.has(toKey(transfer)))
      .map((transfer) => [toPlace(transfer), transfer] as const),
  );
  const to = new Set([...fresh.values()].map(({ address }) => address));
  const known = new Set(await store.matchAddresses([...to]));
  const payments = [...fresh.values()].filter(({ address }) => known.has(address));
  for (const payment of payments) {
    memory.unagreed.set(toPlace(payment), { payment, shownBy: new Set() });
  }
  for (const { client, transfers } of shown) {
    for (const each of transfers) memory.unagreed.get(toPlace(each))?.shownBy.add(client.name);
  }
  const agreed = [...memory.unagreed.values()].flatMap(({ payment, shownBy }) =>
    shownBy.size >= view.quorum ? [payment] : [],
  );
  if (!anchor && payments.length + agreed.length === 0) return;
  await store.save(anchor, payments, isGap, agreed);
  for (const payment of agreed) memory.unagreed.delete(toPlace(payment));
  for (const payment of payments) {
    const { blockHash, blockNumber } = payment;
    const block = memory.savedLogs.get(blockHash) ?? { blockNumber, logs: new Set() };
    memory.savedLogs.set(blockHash, block);
    block.logs.add(toKey(payment));
  }
  const newest = new Map(payments.map(({ address, blockNumber }) => [address, blockNumber]));
  for (const [address, blockNumber] of newest) report({ kind: "detected", address, blockNumber });
}

/**
 * Returns the key of a payment. The key contains the payer and the amount, so an invented log
 * cannot replace a real log with the same index.
 */
const toKey = ({ logIndex, address, token, payer, amount, transactionHash }: Payment) =>
  `${logIndex} ${address} ${token} ${payer} ${amount} ${transactionHash}`;

const toPlace = (payment: Payment) => `${payment.blockHash} ${toKey(payment)}`;

function forgetOldLogs({ memory, tuning }: SweepContext, target: number): void {
  const oldest = target - uncorroboratedBlocksMax - tuning.resweepBlocks;
  for (const [hash, { blockNumber }] of memory.savedLogs) {
    if (blockNumber < oldest) memory.savedLogs.delete(hash);
  }
  for (const [place, { payment }] of memory.unagreed) {
    if (payment.blockNumber < oldest) memory.unagreed.delete(place);
  }
}
