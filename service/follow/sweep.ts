// Finds payments. A turn reads the Transfer logs of listed tokens since the cursor and marks the
// store's addresses that received money. A log only makes an address due: the balance decides the
// action, so a false log costs one look. A missing log would cost a payment, so the cursor passes a
// block only after two endpoints have shown its logs, if there are two.
//
// No limit of a provider stops it. If an endpoint refuses a range, smaller parts are requested, and
// each part that was shown is kept. A block that no endpoint shows becomes a gap: the cursor passes
// it, and the balances of all records are read. The same happens for blocks that only one endpoint
// shows while the others refuse: the payments that it shows are acted on, and those that it hides
// are found by balances.
//
// While one query does not reach from the cursor to the head, the newest blocks are read first, so
// that a new payment does not wait until the history below it is read. Their logs only make
// addresses due: the cursor stays, and the blocks are read again in their turn.

import {
  recordAllLogsRefused,
  recordLogsShown,
  recordLogsSlow,
  shrinkLogRange,
} from "../chain/rpc/endpoint-record.ts";
import { blockCall, blockOf, ChainUnavailable, resultOf } from "../chain/rpc/json-rpc.ts";
import type { Asker } from "../chain/rpc/view.ts";
import { askRange, type LogsAnswer } from "./logs.ts";
import type { Anchor, Payment, Range, Turn } from "./parts.ts";
import { noteRecipients } from "./recipients.ts";
import { firstBlock, noteLinks, stands } from "./reorg.ts";

/** Blocks that only one endpoint showed count as read only this far behind the head. */
const uncorroboratedBlocksMax = 256;
/** The number of blocks above the cursor that one endpoint is asked for per turn. */
const tipBlocksMax = 32;
/** A head further below the cursor is not a lag: the chain was reset, or the cursor was false. */
const lagBlocksMax = 64;
/** Queries for the newest blocks in one turn, before the history below them is read. */
const tipRangesMax = 3;
/**
 * The number of turns in which no endpoint shows a block before it becomes a gap, because failures
 * can be temporary.
 */
const refusalsMax = 3;
/**
 * Reads up to the newest block that is deep enough.
 * @returns the last block read, and whether the head is below the blocks that were already read
 */
export async function sweep(turn: Turn): Promise<{ upTo: number; isOld: boolean }> {
  const { chain, memory, view, store, tuning } = turn;
  const target = view.head.number - chain.paymentConfirmations;
  if (memory.readHead === view.head.hash) return { upTo: target, isOld: false };
  await noteLinks(turn);
  await noteRecipients(turn);
  const newest = await store.findAnchor();
  // A head below the cursor comes from an endpoint that lags or was rolled back. No anchor is saved
  // then, because anchors above it may no longer be on the chain, and the newest saved one would
  // hide that.
  const below = newest === undefined ? 0 : newest.number - view.head.number;
  let next = await firstBlock(turn, target);
  let cursor = (await store.findAnchor())?.number ?? next - 1;
  memory.turn++;
  // At the tip, the endpoint that has shown the least is asked, so that two have soon shown each
  // block.
  const count = target - cursor <= tipBlocksMax ? 1 : view.quorum;
  if (!(await readTip(turn, cursor, target))) return { upTo: cursor, isOld: false };
  for (let ranges = 0; ranges < tuning.rangesPerPass && next <= target; ranges++) {
    const range = { from: next, to: Math.min(target, next + rangeBlocks(turn) - 1) };
    const { shown, refused, refusal } = await readRange(turn, range, count);
    const transfers = shown.flatMap((each) => each.transfers);
    if (refusal && range.from < range.to) {
      await keep(turn, undefined, transfers, false);
      shrinkRange(turn, shown, refused, range);
      if (refusal.isSlow || refusal.isLimited) break;
      continue;
    }
    if (refusal && range.to <= cursor) {
      next = range.to + 1;
      continue;
    }
    const isUnshown = refusal !== undefined && isGapNow(turn, shown, range.to);
    if (refusal && !isUnshown) break;
    if (isUnshown || shown.some(({ isHeavy }) => isHeavy)) memory.heavyBlock = range.to;
    const end = shown[0]?.end ?? (await readAnchor(turn, range.to));
    const message = refusal?.message ?? (range.to > cursor ? aloneBy(turn) : undefined);
    const isGap = message !== undefined;
    if (isGap) turn.report({ kind: "gap", blockNumber: end.number, message });
    for (const { asker } of shown) extend(turn, asker.name, range, end, cursor);
    const isDeep = isGap || range.to < target - uncorroboratedBlocksMax;
    const anchor = isDeep ? end : await corroborated(turn, cursor);
    await keep(turn, below > 0 ? undefined : anchor, transfers, isGap);
    cursor = Math.max(cursor, anchor?.number ?? 0);
    next = range.to + 1;
  }
  forgetOld(turn, target);
  if (below <= 0 && cursor >= target) memory.readHead = view.head.hash;
  return { upTo: next - 1, isOld: below > 0 && below <= lagBlocksMax };
}

/**
 * Reads the newest blocks if one query does not reach them from the cursor: those since the last
 * turn, and a few below them whose logs an endpoint may have indexed late.
 *
 * @returns whether the turn can go on: false if an endpoint wants fewer calls
 */
async function readTip(turn: Turn, cursor: number, target: number): Promise<boolean> {
  const { memory, store, tuning, view } = turn;
  const width = rangeBlocks(turn);
  if (target - cursor <= width) return true;
  const unread = Math.max(memory.tip + 1 - tuning.resweepBlocks, cursor + 1);
  const lowest = Math.max(unread, target + 1 - tipRangesMax * Math.min(width, tipBlocksMax));
  for (let to = target; to >= lowest; ) {
    const range = { from: Math.max(lowest, to - width + 1), to };
    const { shown, refused, refusal } = await readRange(turn, range, view.quorum);
    const paid = new Set(shown.flatMap(({ transfers }) => transfers.map((each) => each.address)));
    const known = await store.matchAddresses([...paid]);
    if (known.length > 0) await store.wake(known);
    if (refusal) {
      // If a single block is refused, in any words, it becomes a gap in its turn.
      if (range.from === to) return true;
      shrinkRange(turn, shown, refused, range);
      return !refusal.isSlow && !refusal.isLimited;
    }
    to = range.from - 1;
  }
  memory.tip = target;
  return true;
}

type Shown = Extract<LogsAnswer, { kind: "shown" }> & { asker: Asker };
type Refused = Extract<LogsAnswer, { kind: "refused" }> & { asker: Asker };

/** `refused`: the endpoints that refuse it. `refusal`: why it was not read, if it was not. */
type RangeReading = { shown: Shown[]; refused: Refused[]; refusal: Refused | undefined };

/**
 * Asks endpoints one after the other until `count` have shown the range, if enough do.
 * @throws {ChainUnavailable} if no endpoint answers, or if two show different blocks
 */
async function readRange(turn: Turn, range: Range, count: number): Promise<RangeReading> {
  const shown: Shown[] = [];
  const refused: Refused[] = [];
  let absent = 0;
  const blocks = range.to - range.from + 1;
  for (const asker of askersFor(turn, blocks)) {
    const answer = await askRange(asker, turn, range);
    if (answer.kind === "absent") absent++;
    else if (answer.kind === "shown") shown.push({ ...answer, asker });
    else refused.push({ ...answer, asker });
    if (answer.kind === "shown") {
      recordLogsShown(asker.record, blocks, turn.tuning.rangeBlocksMax);
    }
    if (answer.kind === "refused" && answer.isSlow) recordLogsSlow(asker.record, turn.memory.turn);
    if (shown.length === count) break;
  }
  if (shown.length + refused.length === 0) {
    throw new ChainUnavailable(`no endpoint shows logs of blocks ${range.from} to ${range.to}`);
  }
  assertOneEnd(shown);
  const isRead =
    shown.length > 0 && !(await doRefusalsCount(turn, range, refused, absent + refused.length));
  const refusal = refused.findLast(({ isSlow }) => isSlow) ?? refused[0];
  return { shown, refused, refusal: isRead ? undefined : refusal };
}

function assertOneEnd(shown: readonly Shown[]): void {
  const [first, ...others] = shown.map(({ end }) => end);
  const other = others.find(({ hash }) => hash !== first!.hash);
  if (!other) return;
  const two = `block ${other.number} is ${first!.hash} and ${other.hash}`;
  throw new ChainUnavailable(`reorg in passing: ${two}`);
}

/**
 * Returns whether a range that one endpoint shows must be requested again in smaller parts. Not if
 * enough others can still confirm it, or if the endpoints that refuse it refuse every block: an
 * endpoint that refuses all logs would otherwise make a gap of each block.
 */
async function doRefusalsCount(
  turn: Turn,
  range: Range,
  refused: readonly Refused[],
  failed: number,
): Promise<boolean> {
  if (refused.length === 0) return false;
  const all = turn.view.askers(0);
  const able = all.filter((asker) => !isRefusing(turn, asker)).length || all.length;
  if (able - failed >= turn.view.quorum) return false;
  return refused.some(({ isSlow }) => isSlow) || !(await doRefuseAll(turn, refused, range));
}

/**
 * Returns the order of endpoints: those that have shown the least come first. An endpoint that was
 * slow, or refuses all logs, is skipped for a while.
 */
function askersOf(turn: Turn): Asker[] {
  const { memory, view } = turn;
  const all = view.askers(memory.turn);
  const shown = ({ name }: Asker) => memory.shown.get(name)?.number ?? -1;
  const willing = all.filter((asker) => !isSlow(turn, asker) && !isRefusing(turn, asker));
  return (willing.length > 0 ? willing : all).toSorted((a, b) => shown(a) - shown(b));
}

/** Puts endpoints with shorter limits last, because a range beyond their limit wastes a call. */
const askersFor = (turn: Turn, blocks: number): Asker[] => {
  const isNarrow = ({ record }: Asker) => Number(record.logs.rangeBlocks < blocks);
  return askersOf(turn).toSorted((a, b) => isNarrow(a) - isNarrow(b));
};

const isSlow = ({ memory }: Turn, { record }: Asker): boolean =>
  record.logs.slowUntilTurn > memory.turn;

const isRefusing = ({ memory }: Turn, { record }: Asker): boolean =>
  (record.logs.refusing?.untilTurn ?? 0) > memory.turn;

/** Returns as many blocks as a quorum of the endpoints allow in one query. */
function rangeBlocks(turn: Turn): number {
  const limits = askersOf(turn).map(({ record }) => record.logs.rangeBlocks);
  limits.sort((a, b) => b - a);
  return limits[Math.min(turn.view.quorum, limits.length) - 1]!;
}

/**
 * Shortens the range of every endpoint that did not show it, whatever the refusal says: to what it
 * says that it allows, or by half.
 */
function shrinkRange(
  turn: Turn,
  shown: readonly Shown[],
  refused: readonly Refused[],
  { from, to }: Range,
): void {
  const names = new Set(shown.map(({ asker }) => asker.name));
  for (const { name, record } of turn.view.askers(0)) {
    if (names.has(name)) continue;
    const own = refused.find(({ asker }) => asker.name === name);
    shrinkLogRange(record, to - from + 1, own?.statedBlocks);
  }
}

/**
 * Returns whether each of `refused` also refuses the last block as a separate range, so that no
 * smaller range helps. They are then skipped for a while.
 */
async function doRefuseAll(turn: Turn, refused: readonly Refused[], { from, to }: Range) {
  for (const { asker, message } of refused) {
    const answer = from < to ? await askRange(asker, turn, { from: to, to }) : undefined;
    if (answer && (answer.kind !== "refused" || answer.isSlow)) return false;
    recordAllLogsRefused(asker.record, turn.memory.turn, message);
  }
  return true;
}

/** Reports endpoints that refuse all logs, if there are too few others to confirm each other. */
function aloneBy(turn: Turn): string | undefined {
  const { view } = turn;
  const all = view.askers(0);
  const refusing = all.filter((asker) => isRefusing(turn, asker));
  if (refusing.length === 0 || all.length - refusing.length >= view.quorum) return undefined;
  return refusing.map(({ name, record }) => `${name}: ${record.logs.refusing!.message}`).join(", ");
}

/** Immediately if one endpoint shows the block and another is slow, and directly above a gap. */
function isGapNow({ memory }: Turn, shown: readonly Shown[], number: number): boolean {
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

/** Records that an endpoint has shown everything from the cursor up to `end`. */
function extend({ memory }: Turn, name: string, { from }: Range, end: Anchor, cursor: number) {
  const before = Math.max(cursor, memory.shown.get(name)?.number ?? cursor);
  if (from <= before + 1) memory.shown.set(name, end);
}

/**
 * The newest block up to which enough endpoints have shown everything, if it is above the cursor.
 */
async function corroborated(turn: Turn, cursor: number): Promise<Anchor | undefined> {
  const { memory, view } = turn;
  const newestFirst = [...memory.shown].toSorted(([, a], [, b]) => b.number - a.number);
  let count = 0;
  for (const [name, end] of newestFirst) {
    if (end.number <= cursor) return undefined;
    if (!(await stands(turn, end))) memory.shown.delete(name);
    else if (++count === view.quorum) return end;
  }
  return undefined;
}

/** Saves those of `transfers` that go to addresses of the store, together with the anchor. */
async function keep(
  turn: Turn,
  anchor: Anchor | undefined,
  transfers: readonly Payment[],
  isGap: boolean,
): Promise<void> {
  const { memory, store, report } = turn;
  const fresh = new Map(
    transfers
      .filter((transfer) => !memory.kept.get(transfer.blockHash)?.logs.has(keyOf(transfer)))
      .map((transfer) => [`${transfer.blockHash} ${keyOf(transfer)}`, transfer] as const),
  );
  const to = new Set([...fresh.values()].map(({ address }) => address));
  const known = new Set(await store.matchAddresses([...to]));
  const payments = [...fresh.values()].filter(({ address }) => known.has(address));
  if (!anchor && payments.length === 0) return;
  await store.keep(anchor, payments, isGap);
  for (const payment of payments) {
    const { blockHash, blockNumber } = payment;
    const block = memory.kept.get(blockHash) ?? { blockNumber, logs: new Set() };
    memory.kept.set(blockHash, block);
    block.logs.add(keyOf(payment));
  }
  const newest = new Map(payments.map(({ address, blockNumber }) => [address, blockNumber]));
  for (const [address, blockNumber] of newest) report({ kind: "detected", address, blockNumber });
}

/**
 * With the recipient, because an endpoint that reports a log at the position of another would
 * otherwise hide the other.
 */
const keyOf = ({ logIndex, address }: Payment) => `${logIndex} ${address}`;

function forgetOld({ memory, tuning }: Turn, target: number): void {
  const oldest = target - uncorroboratedBlocksMax - tuning.resweepBlocks;
  for (const [hash, { blockNumber }] of memory.kept) {
    if (blockNumber < oldest) memory.kept.delete(hash);
  }
}
