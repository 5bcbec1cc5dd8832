// Looking once at each new record: anybody can derive an address offline and pay it before it is
// created here, and then no sweep matches the payment.
//
// No payment falls between look and sweep. A look reads the record first and the sweeps' cursor
// second. Blocks above that cursor are swept after the record was there, so a sweep matches their
// payments. Blocks up to the cursor are part of the state at the head that the look reads, since a
// look is only made at a head that is not below the cursor.
//
// A look costs a part of one eth_call for each new record, and a pass makes a bounded number of
// them. A flood of records is worked off over many passes. A walk ends, because it takes in no
// record that was created after it began, but for an overlap.

import { fromHex, type Hex } from "executable-address";
import { type Answer, ChainUnavailable, hexData, resultOf } from "../../chain/rpc/json-rpc.ts";
import { type Holder, holdersMax, holdingsIn, probeData } from "../../chain/status/probe.ts";
import { type Created, type Place, startPlace } from "../../store/created.ts";
import { causeOf, decodeRecord } from "../../store/record.ts";
import { CorruptError } from "../../store/store.ts";
import type { JobHint } from "../desk/hints.ts";
import type { Looks, Pass, Walk } from "../parts.ts";

/**
 * So much of each walk overlaps the last. A record is committed at most 15 seconds after its
 * `created_at`, or not at all; the other 45 allow for servers' clocks that differ.
 */
const overlapMs = 60_000;

/**
 * What one endpoint alone showed counts as looked at only up to this long ago, so that another is
 * asked about the rest when it answers again.
 */
const uncorroboratedMs = 3_600_000;

/** Rows read in one step. Nearly all of them are of the overlap, and were looked at before. */
const rowsMax = 3000;

/** Records remembered as looked at. Beyond that all are forgotten, and looked at once more. */
const lookedMax = 200_000;

/** How much later what was looked at ends before the ledger is written again. */
const keepEveryMs = 10_000;

export const freshLooks = (): Looks => ({
  walk: undefined,
  since: undefined,
  looked: new Map(),
  turn: 0,
  stepMax: holdersMax,
});

/** One step of a walk: at most `tuning.looksPerPass` records that were not looked at yet. */
export async function lookAtNew(pass: Pass): Promise<void> {
  const { parts, memory, view } = pass;
  const { ledger, tuning, chain } = parts;
  if (tuning.looksPerPass === 0) return;
  const { looks } = memory;
  looks.walk ??= await beginWalk(pass);
  const { walk } = looks;
  const read = await ledger.findCreated(walk.span, walk.place, rowsMax);
  const { fresh, next } = cut(looks, read, Math.min(looks.stepMax, tuning.looksPerPass));
  const swept = await ledger.findAnchor(chain.chainId);
  if (swept && swept.number > view.head.number) return;
  const probed = await probe(pass, await holdersOf(pass, fresh));
  if (!probed) return;
  if (probed.paid.length > 0) {
    const woken = await ledger.saveLook(pass.fence, probed.paid, undefined);
    const blockNumber = view.head.number;
    for (const { address } of woken) parts.report({ kind: "detected", address, blockNumber });
  }
  // After the ledger has it: a look that could not be kept is made again.
  walk.isWhole &&= probed.isWhole;
  walk.isCorroborated &&= probed.isCorroborated;
  if (probed.isWhole && probed.isCorroborated) remember(looks, fresh);
  if (next) walk.place = next;
  else await endWalk(pass, walk);
}

async function beginWalk({ parts, memory: { looks } }: Pass): Promise<Walk> {
  const { ledger, chain } = parts;
  if (!looks.since) {
    const keptMs = await ledger.readLookedUntil(chain.chainId);
    looks.since = { knownMs: keptMs, keptMs };
  }
  const from = Math.max(0, looks.since.knownMs - overlapMs);
  for (const [address, createdAt] of looks.looked) {
    if (createdAt < from) looks.looked.delete(address);
  }
  const beganMs = await ledger.readClock();
  const span = { from, until: beganMs + overlapMs };
  return { span, beganMs, place: startPlace, isWhole: true, isCorroborated: true };
}

async function endWalk({ parts, memory: { looks }, fence }: Pass, walk: Walk): Promise<void> {
  const since = looks.since!;
  looks.walk = undefined;
  if (!walk.isWhole) return;
  const reachedMs = walk.isCorroborated ? walk.beganMs : walk.beganMs - uncorroboratedMs;
  since.knownMs = Math.max(since.knownMs, reachedMs);
  if (since.knownMs - since.keptMs < keepEveryMs) return;
  await parts.ledger.saveLook(fence, [], since.knownMs);
  since.keptMs = since.knownMs;
}

/** Of what was read, the first so many that were not looked at, and the place behind them. */
function cut(
  { looked }: Looks,
  { created, next }: { created: Created[]; next: Place | undefined },
  max: number,
): { fresh: Created[]; next: Place | undefined } {
  const fresh: Created[] = [];
  for (const record of created) {
    if (looked.has(record.address)) continue;
    fresh.push(record);
    if (fresh.length === max) return { fresh, next: record };
  }
  return { fresh, next };
}

function remember({ looked }: Looks, fresh: readonly Created[]): void {
  if (looked.size + fresh.length > lookedMax) looked.clear();
  for (const { address, createdAt } of fresh) looked.set(address, createdAt);
}

/** The vaults of this chain with their tokens. A record that does not prove itself is left out. */
async function holdersOf({ parts }: Pass, fresh: readonly Created[]): Promise<Holder[]> {
  const held = await parts.ledger.findHeld(fresh.map(({ address }) => address));
  return held.flatMap(({ address, terms }) => {
    try {
      const { chainId, token } = decodeRecord(fromHex(address), terms, parts);
      return chainId === parts.chain.chainId
        ? [{ vault: address, token: token.toLowerCase() as Hex }]
        : [];
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      parts.report({ kind: "corrupt_record", address, cause: causeOf(error) });
      return [];
    }
  });
}

type Probed = { paid: JobHint[]; isWhole: boolean; isCorroborated: boolean };

/** @returns undefined where it was too much for the endpoints: the next step asks for less */
async function probe(pass: Pass, holders: readonly Holder[]): Promise<Probed | undefined> {
  const { looks } = pass.memory;
  const found: Probed = { paid: [], isWhole: true, isCorroborated: true };
  try {
    for (let at = 0; at < holders.length; at += holdersMax) {
      const { paid, isCorroborated } = await probeSome(pass, holders.slice(at, at + holdersMax));
      found.paid.push(...paid);
      found.isCorroborated &&= isCorroborated;
    }
    looks.stepMax = Math.min(looks.stepMax * 2, rowsMax);
    return found;
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    looks.stepMax = Math.max(1, Math.floor(Math.min(looks.stepMax, holders.length) / 4));
    // A single vault that no endpoint answers for is passed over; the next walk comes to it again.
    return holders.length > 1 ? undefined : { ...found, isWhole: false };
  }
}

/** Money that any of several endpoints shows is enough for a hint. */
async function probeSome(pass: Pass, holders: readonly Holder[]) {
  const { parts, memory, view } = pass;
  const { head } = view;
  const wanted = {
    chainId: parts.chain.chainId,
    timestamp: head.timestamp,
    count: holders.length,
  };
  const holdings = (answer: Answer) => holdingsIn(hexData(resultOf(answer)), wanted);
  const isUsable = (answer: Answer) => {
    try {
      return holdings(answer).length > 0;
    } catch {
      return false;
    }
  };
  const call = { method: "eth_call", params: [{ data: probeData(holders) }, view.at] };
  const answers = await view.readSeveral([call], memory.looks.turn++, isUsable);
  const all = answers.map(([answer]) => holdings(answer!));
  const isPaid = (index: number) =>
    all.some((each) => each[index]!.native > 0n || (each[index]!.balance ?? 0n) > 0n);
  const paid = holders.flatMap(({ vault }, index) =>
    isPaid(index)
      ? [{ address: vault, block: { number: head.number, timestamp: pass.nowSeconds } }]
      : [],
  );
  return { paid, isCorroborated: answers.length >= view.quorum };
}
