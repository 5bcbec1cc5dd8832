// Finds payments. A turn reads the Transfer logs of listed tokens in the blocks above the cursor,
// which is the newest saved anchor. If a recipient is one of the service's addresses, the turn
// saves the payment and makes the address due, so that the address's balance is read. Only balances
// decide what happens next, so a false log causes only an unnecessary read. But a missing log would
// hide a payment. So if there are at least two endpoints, the cursor moves past a block only after
// two endpoints have returned the block's logs.
//
// A provider's limits never stop the reading. If an endpoint refuses a range, the range is
// requested in smaller parts, and each part is saved. A block becomes a gap if no endpoint returns
// its logs in any way, or if one endpoint returns them and the others refuse. The cursor then moves
// past the block, and the balances of all records are read.
//
// If one query cannot contain all blocks above the cursor, a turn reads the newest blocks first, so
// that a new payment does not wait until the history below is read. The logs of these blocks only
// make addresses due. The cursor does not move, and the blocks are read again when the history
// reaches them.

import { blockCall, blockOf, resultOf } from "../chain/rpc/json-rpc.ts";
import { findPosition, isAncestor, noteLinks, type Position } from "./anchors.ts";
import { noteDelisted, noteRecipients } from "./logs.ts";
import type { Anchor, Payment, Range, Turn } from "./parts.ts";
import {
  computeRangeBlocks,
  explainNoQuorum,
  readRange,
  type Shown,
  shrinkRange,
} from "./range.ts";

/**
 * An anchor that only one endpoint has shown is saved only for a gap, or if it is more than this
 * number of blocks below the newest block that the turn can read.
 */
const uncorroboratedBlocksMax = 256;
/**
 * If at most this number of blocks is unread, and one query can contain them, each turn reads them
 * from a single endpoint.
 */
const tipBlocksMax = 32;
/**
 * If the head is at most this number of blocks below the newest anchor, the endpoints are behind.
 * If it is further below, the chain was reset or the anchor was wrong.
 */
const lagBlocksMax = 64;
/**
 * The maximum number of queries for the newest blocks in one turn. After them, the turn reads the
 * history below.
 */
const tipRangesMax = 3;
/** After this number of turns in which no endpoint shows a block, the block becomes a gap. */
const refusalsMax = 3;

/**
 * Reads the logs up to the newest block that is deep enough to count, and saves the payments.
 *
 * @returns the last block that was read, and whether the head is below a block that was read in an
 *   earlier turn
 */
export async function sweep(turn: Turn): Promise<{ upTo: number; isOld: boolean }> {
  const { chain, memory, view, tuning } = turn;
  const target = view.head.number - chain.paymentConfirmations;
  if (memory.readHead === view.head.hash) return { upTo: target, isOld: false };
  await noteLinks(turn);
  await noteRecipients(turn);
  await noteDelisted(turn);
  const { aheadBlocks, ...position } = await findPosition(turn, target);
  const { cursor } = position;
  memory.turn++;
  if (!(await readTip(turn, cursor, target))) return { upTo: cursor, isOld: false };
  const steps: Steps = {
    target,
    // If the cursor is near the head, the turn asks only the endpoint that has shown the fewest
    // blocks. After a few turns, two endpoints have shown each block. If the cursor is further
    // below, the turn asks a quorum, because the cursor would otherwise move more slowly than the
    // head.
    count: target - cursor <= Math.min(tipBlocksMax, computeRangeBlocks(turn)) ? 1 : view.quorum,
    // If the head is below the newest anchor, either the endpoints are behind or the chain was
    // rolled back. In the second case, the anchors above the head are wrong, and a new anchor could
    // hide that.
    savesAnchors: aheadBlocks <= 0,
  };
  for (let ranges = 0; ranges < tuning.rangesPerPass && position.next <= target; ranges++) {
    if (!(await readNext(turn, position, steps))) break;
  }
  forgetOldLogs(turn, target);
  if (aheadBlocks <= 0 && position.cursor >= target) memory.readHead = view.head.hash;
  return { upTo: position.next - 1, isOld: aheadBlocks > 0 && aheadBlocks <= lagBlocksMax };
}

/** `count`: the number of endpoints that must show a range. */
type Steps = { target: number; count: number; savesAnchors: boolean };

/**
 * Reads the next range, saves its payments, and moves the position. If the range is refused, the
 * next call requests a smaller range.
 *
 * @returns whether the turn can continue
 */
async function readNext(turn: Turn, position: Position, steps: Steps): Promise<boolean> {
  const { target, count } = steps;
  const { next, cursor } = position;
  const range = { from: next, to: Math.min(target, next + computeRangeBlocks(turn) - 1) };
  const reading = await readRange(turn, range, count);
  const { shown, refusal } = reading;
  if (refusal && range.from < range.to) {
    await saveTransfers(turn, undefined, shown, false);
    return shrinkRange(turn, reading, range);
  }
  if (refusal && range.to <= cursor) {
    // An earlier turn read this block.
    position.next = range.to + 1;
    return true;
  }
  if (refusal && !isGapDue(turn, shown, range.to)) return false;
  await movePast(turn, position, steps, { range, shown, refused: refusal?.message });
  return true;
}

/**
 * Saves the transfers of a range, and an anchor if the range was read reliably, and moves the
 * position past the range.
 *
 * @param refused the message of a refusal because of which the range becomes a gap
 */
async function movePast(
  turn: Turn,
  position: Position,
  { target, savesAnchors }: Steps,
  { range, shown, refused }: { range: Range; shown: Shown[]; refused: string | undefined },
): Promise<void> {
  const { memory } = turn;
  const { cursor } = position;
  if (refused !== undefined || shown.some(({ isHeavy }) => isHeavy)) memory.heavyBlock = range.to;
  const end = shown[0]?.end ?? (await readAnchor(turn, range.to));
  const message = refused ?? (range.to > cursor ? explainNoQuorum(turn) : undefined);
  const isGap = message !== undefined;
  if (isGap) turn.report({ kind: "gap", blockNumber: end.number, message });
  for (const { client } of shown) noteShown(turn, client.name, range, end, cursor);
  const isDeep = isGap || range.to < target - uncorroboratedBlocksMax;
  const anchor = isDeep ? end : await findAgreedAnchor(turn, cursor);
  await saveTransfers(turn, savesAnchors ? anchor : undefined, shown, isGap);
  position.cursor = Math.max(cursor, anchor?.number ?? 0);
  position.next = range.to + 1;
}

/**
 * Reads the newest blocks if one query cannot contain all blocks above the cursor. The newest
 * blocks are the blocks since the last turn, and a few blocks below them, because an endpoint may
 * have indexed their logs late.
 *
 * @returns false if the turn must end, because an endpoint is slow or requires fewer calls
 */
async function readTip(turn: Turn, cursor: number, target: number): Promise<boolean> {
  const { memory, store, tuning, view } = turn;
  const width = computeRangeBlocks(turn);
  if (target - cursor <= width) return true;
  const unread = Math.max(memory.tip + 1 - tuning.resweepBlocks, cursor + 1);
  const lowest = Math.max(unread, target + 1 - tipRangesMax * Math.min(width, tipBlocksMax));
  for (let to = target; to >= lowest; ) {
    const range = { from: Math.max(lowest, to - width + 1), to };
    const reading = await readRange(turn, range, view.quorum);
    const paid = new Set(
      reading.shown.flatMap(({ transfers }) => transfers.map((each) => each.address)),
    );
    const known = await store.matchAddresses([...paid]);
    if (known.length > 0) await store.wake(known);
    if (reading.refusal) {
      // If endpoints refuse even a single block, it becomes a gap later, when the history reaches
      // it.
      return range.from === to || shrinkRange(turn, reading, range);
    }
    to = range.from - 1;
  }
  memory.tip = target;
  return true;
}

/**
 * Counts a refusal of the block, and returns whether the block becomes a gap. A block becomes a gap
 * after refusals in several turns. It becomes a gap immediately if one endpoint shows it, or if the
 * block below is a gap.
 */
function isGapDue({ memory }: Turn, shown: readonly Shown[], number: number): boolean {
  const before = memory.refused;
  const isAboveGap = before?.number === number - 1 && before.turns >= refusalsMax;
  const turns = isAboveGap ? refusalsMax : before?.number === number ? before.turns + 1 : 1;
  memory.refused = { number, turns };
  return shown.length > 0 || turns >= refusalsMax;
}

async function readAnchor({ view }: Turn, number: number): Promise<Anchor> {
  if (number === view.head.number) return { number, hash: view.head.hash };
  const [answer] = await view.read([blockCall(number)]);
  return { number, hash: blockOf(resultOf(answer)).hash };
}

/** Records that an endpoint has shown all blocks from the cursor up to `end`. */
function noteShown({ memory }: Turn, name: string, { from }: Range, end: Anchor, cursor: number) {
  const before = Math.max(cursor, memory.shown.get(name)?.number ?? cursor);
  if (from <= before + 1) memory.shown.set(name, end);
}

/**
 * Returns the newest block up to which a quorum has shown all logs, or undefined if that block is
 * not above the cursor.
 */
async function findAgreedAnchor(turn: Turn, cursor: number): Promise<Anchor | undefined> {
  const { memory, view } = turn;
  const newestFirst = [...memory.shown].toSorted(([, a], [, b]) => b.number - a.number);
  let count = 0;
  for (const [name, end] of newestFirst) {
    if (end.number <= cursor) return undefined;
    if (!(await isAncestor(turn, end))) memory.shown.delete(name);
    else if (++count === view.quorum) return end;
  }
  return undefined;
}

/**
 * Saves the anchor, and the transfers whose recipients are addresses of the store. Also
 * reports to the store which transfers a quorum of endpoints has shown.
 */
async function saveTransfers(
  turn: Turn,
  anchor: Anchor | undefined,
  shown: readonly Shown[],
  isGap: boolean,
): Promise<void> {
  const { memory, store, report, view } = turn;
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
 * Returns the key of a payment. The key includes the transfer, because a false log with the index
 * of a real log must not hide the real log.
 */
const toKey = ({ logIndex, address, token, payer, amount, transactionHash }: Payment) =>
  `${logIndex} ${address} ${token} ${payer} ${amount} ${transactionHash}`;

const toPlace = (payment: Payment) => `${payment.blockHash} ${toKey(payment)}`;

function forgetOldLogs({ memory, tuning }: Turn, target: number): void {
  const oldest = target - uncorroboratedBlocksMax - tuning.resweepBlocks;
  for (const [hash, { blockNumber }] of memory.savedLogs) {
    if (blockNumber < oldest) memory.savedLogs.delete(hash);
  }
  for (const [place, { payment }] of memory.unagreed) {
    if (payment.blockNumber < oldest) memory.unagreed.delete(place);
  }
}
