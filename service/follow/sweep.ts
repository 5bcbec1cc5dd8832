// Finding payments. A turn reads the Transfer logs of listed tokens since the cursor and marks the
// addresses of the store that they go to. A log only makes an address due: its balance decides
// what is done, so a false log costs one look. A missing log would cost a payment, so the cursor
// moves over a block once two endpoints have shown its logs, where there are two.
//
// No limit of a provider stops it. Whatever an endpoint refuses is asked for in smaller parts, and
// each part that was shown is kept. A block that nobody shows in any way becomes a gap: the cursor
// moves over it, and all records are looked at by their balances. So do blocks that one endpoint
// alone shows while the others refuse: what it shows is acted on, what it leaves out is found.

import { blockCall, blockOf, ChainUnavailable, resultOf } from "../chain/rpc/json-rpc.ts";
import type { Asker } from "../chain/rpc/view.ts";
import { askRange } from "./logs.ts";
import type { Anchor, Payment, Range, Turn } from "./parts.ts";
import { noteRecipients } from "./recipients.ts";
import { firstBlock, noteLinks, stands } from "./reorg.ts";

/** Blocks that one endpoint alone showed are kept as read only this far behind the head. */
const uncorroboratedBlocksMax = 256;
/** Blocks above the cursor that one endpoint at each turn is asked for. */
const tipBlocksMax = 32;
/** A head further below the cursor is no lag: the chain was set back, or the cursor was a lie. */
const lagBlocksMax = 64;
/** Turns in which nobody shows a block before it becomes a gap: nodes have bad moments. */
const refusalsMax = 3;
/** Turns in which an endpoint that was slow is not asked, where there is another. */
const slowTurns = 16;
/** The same for one that refuses all logs: doubled up to this while it goes on refusing. */
const refusingTurnsMax = 64;
/** Ranges grow slowly again after a refusal. */
const growth = 1.1;

/**
 * Reads up to the newest block that is deep enough.
 * @returns the last block read, and whether the head lags behind what was read before
 */
export async function sweep(turn: Turn): Promise<{ upTo: number; isOld: boolean }> {
  const { chain, memory, view, store, tuning } = turn;
  const target = view.head.number - chain.paymentConfirmations;
  if (memory.readHead === view.head.hash) return { upTo: target, isOld: false };
  await noteLinks(turn);
  await noteRecipients(turn);
  const newest = await store.findAnchor();
  // A head below the cursor comes from an endpoint that lags or was rolled back. No anchor is kept
  // then: anchors above it may not stand any more, and the newest kept one would hide that.
  const below = newest === undefined ? 0 : newest.number - view.head.number;
  let next = await firstBlock(turn, target);
  let cursor = (await store.findAnchor())?.number ?? next - 1;
  memory.turn++;
  // At the tip the endpoint that has shown least is asked, so that two have soon shown each block.
  const count = target - cursor <= tipBlocksMax ? 1 : view.quorum;
  for (let ranges = 0; ranges < tuning.rangesPerPass && next <= target; ranges++) {
    const range = { from: next, to: Math.min(target, next + memory.rangeBlocks - 1) };
    const found = await readRange(turn, range, count);
    if (found.refused && range.from < range.to) {
      await keep(turn, undefined, found.transfers, false);
      memory.rangeBlocks = Math.floor((range.to - range.from + 1) / 2);
      if (found.refused.isSlow) break;
      continue;
    }
    if (found.refused && range.to <= cursor) {
      next = range.to + 1;
      continue;
    }
    const isUnshown = found.refused !== undefined && isGapNow(turn, found, range.to);
    if (found.refused && !isUnshown) break;
    if (isUnshown || found.isHeavy) memory.heavyBlock = range.to;
    if (!isUnshown) memory.rangeBlocks = grown(memory.rangeBlocks, tuning.rangeBlocksMax);
    const end = found.end ?? (await readAnchor(turn, range.to));
    const message = found.refused?.message ?? (range.to > cursor ? aloneBy(turn) : undefined);
    const isGap = message !== undefined;
    if (isGap) turn.report({ kind: "gap", blockNumber: end.number, message });
    for (const name of found.shownBy) extend(turn, name, range, end, cursor);
    const isDeep = isGap || range.to < target - uncorroboratedBlocksMax;
    const anchor = isDeep ? end : await corroborated(turn, cursor);
    await keep(turn, below > 0 ? undefined : anchor, found.transfers, isGap);
    cursor = Math.max(cursor, anchor?.number ?? 0);
    next = range.to + 1;
  }
  forgetOld(turn, target);
  if (below <= 0 && cursor >= target) memory.readHead = view.head.hash;
  return { upTo: next - 1, isOld: below > 0 && below <= lagBlocksMax };
}

type Found = {
  end: Anchor | undefined;
  transfers: Payment[];
  shownBy: string[];
  isHeavy: boolean;
  refused: { message: string; isSlow: boolean } | undefined;
};

/**
 * Asks until `count` endpoints show it, if so many do. A refusal counts where the others are too
 * few to bear each other out: else one that refuses all would make a gap of each block.
 * @throws {ChainUnavailable} where none answers
 */
async function readRange(turn: Turn, range: Range, count: number): Promise<Found> {
  const found: Found = {
    end: undefined,
    transfers: [],
    shownBy: [],
    isHeavy: false,
    refused: undefined,
  };
  const all = turn.view.askers(0);
  const refusing: Refusing[] = [];
  let able = all.filter((asker) => !isRefusing(turn, asker)).length || all.length;
  for (const asker of askersOf(turn)) {
    const told = await askRange(asker, turn, range);
    if (told === "absent" || !("end" in told)) able--;
    if (told === "absent") continue;
    if ("isSlow" in told && told.isSlow) {
      turn.memory.slowUntil.set(asker.name, turn.memory.turn + slowTurns);
    }
    if ("end" in told) {
      if (found.end && found.end.hash !== told.end.hash) {
        const { number, hash } = told.end;
        const two = `block ${number} is ${found.end.hash} and ${hash}`;
        throw new ChainUnavailable(`reorg in passing: ${two}`);
      }
      turn.memory.refusing.delete(asker.name);
      found.end = told.end;
      found.isHeavy ||= told.isHeavy;
      found.transfers.push(...told.transfers);
      found.shownBy.push(asker.name);
    } else {
      if (!found.refused || told.isSlow) found.refused = told;
      refusing.push({ asker, message: told.message });
    }
    if (found.shownBy.length === count) break;
  }
  if (found.end && found.refused) {
    const isMoot =
      able >= turn.view.quorum ||
      (!found.refused.isSlow && (await doRefuseAll(turn, refusing, range)));
    if (isMoot) found.refused = undefined;
  }
  if (found.end || found.refused) return found;
  throw new ChainUnavailable(`no endpoint shows logs of blocks ${range.from} to ${range.to}`);
}

/**
 * Asks endpoints that have shown least first; one that was slow, or refuses all logs, is left alone
 * for a while.
 */
function askersOf(turn: Turn): Asker[] {
  const { memory, view } = turn;
  const all = view.askers(memory.turn);
  const isSlow = ({ name }: Asker) => (memory.slowUntil.get(name) ?? 0) > memory.turn;
  const shown = ({ name }: Asker) => memory.shown.get(name)?.number ?? -1;
  const willing = all.filter((asker) => !isSlow(asker) && !isRefusing(turn, asker));
  return (willing.length > 0 ? willing : all).toSorted((a, b) => shown(a) - shown(b));
}

const isRefusing = ({ memory }: Turn, { name }: Asker): boolean =>
  (memory.refusing.get(name)?.untilTurn ?? 0) > memory.turn;

type Refusing = { asker: Asker; message: string };

/**
 * Whether each of `refusing` refuses the last block by itself too, so that no smaller range helps.
 * They are not asked for a while then.
 */
async function doRefuseAll(turn: Turn, refusing: readonly Refusing[], { from, to }: Range) {
  const { memory } = turn;
  for (const { asker, message } of refusing) {
    const told = from < to ? await askRange(asker, turn, { from: to, to }) : undefined;
    if (told && (told === "absent" || "end" in told || told.isSlow)) return false;
    const before = memory.refusing.get(asker.name)?.turns ?? 0;
    const turns = Math.min(before * 2 || 1, refusingTurnsMax);
    memory.refusing.set(asker.name, { turns, untilTurn: memory.turn + turns, message });
  }
  return true;
}

/** Says who refuses all logs, where the others are too few to bear each other out. */
function aloneBy(turn: Turn): string | undefined {
  const { memory, view } = turn;
  const all = view.askers(0);
  const refusing = all.filter((asker) => isRefusing(turn, asker));
  if (refusing.length === 0 || all.length - refusing.length >= view.quorum) return undefined;
  return refusing.map(({ name }) => `${name}: ${memory.refusing.get(name)!.message}`).join(", ");
}

/** At once where one endpoint shows the block and another is slow, and right above a gap. */
function isGapNow({ memory }: Turn, { end }: Found, number: number): boolean {
  const before = memory.refused;
  const isAboveGap = before?.number === number - 1 && before.turns >= refusalsMax;
  const turns = isAboveGap ? refusalsMax : before?.number === number ? before.turns + 1 : 1;
  memory.refused = { number, turns };
  return end !== undefined || turns >= refusalsMax;
}

const grown = (blocks: number, max: number) => Math.min(max, Math.ceil(blocks * growth));

async function readAnchor({ view }: Turn, number: number): Promise<Anchor> {
  if (number === view.head.number) return { number, hash: view.head.hash };
  const [answer] = await view.read([blockCall(number)]);
  return { number, hash: blockOf(resultOf(answer)).hash };
}

/** Notes that an endpoint has now shown all from the cursor up to `end`. */
function extend({ memory }: Turn, name: string, { from }: Range, end: Anchor, cursor: number) {
  const before = Math.max(cursor, memory.shown.get(name)?.number ?? cursor);
  if (from <= before + 1) memory.shown.set(name, end);
}

/** The newest block up to which enough endpoints have shown all, if it is above the cursor. */
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

/** Keeps those of `transfers` that go to addresses of the store, and the anchor with them. */
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

/** With the recipient: an endpoint that gives a log the place of another would hide the other. */
const keyOf = ({ logIndex, address }: Payment) => `${logIndex} ${address}`;

function forgetOld({ memory, tuning }: Turn, target: number): void {
  const oldest = target - uncorroboratedBlocksMax - tuning.resweepBlocks;
  for (const [hash, { blockNumber }] of memory.kept) {
    if (blockNumber < oldest) memory.kept.delete(hash);
  }
}
