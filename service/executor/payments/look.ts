// Looking once at each new record: anybody can derive an address offline and have it paid before it
// is created here, when the sweeps had nothing to match the payment with.
//
// A record that is read here before the sweeps' cursor is asked for is matched by every block swept
// after; and what lies in the blocks swept before shows in the state after any head not below that
// cursor. So nothing falls between the two. A look costs one probe's part of an eth_call for each
// created address, only where there are new ones, so many per pass; a flood is worked off in turn,
// and ends: a walk takes no record in that is much younger than itself.

import type { Hex } from "executable-address";
import { type Answer, ChainUnavailable, hexData, resultOf } from "../../chain/rpc/json-rpc.ts";
import { type Holder, holdersMax, holdingsIn, probeData } from "../../chain/status/probe.ts";
import { type Created, type Place, startPlace } from "../../store/created.ts";
import type { JobHint } from "../desk/hints.ts";
import type { Looks, Pass, Walk } from "../parts.ts";

/**
 * A record is committed within 15 seconds of the time it bears, by its server's clock, or not at
 * all; the rest is for clocks that differ. So much of each walk overlaps the last.
 */
const overlapMs = 60_000;

/** With all endpoints but one down for long, what is kept follows that one at this distance. */
const uncorroboratedMs = 3_600_000;

/** Rows read in one step, nearly all from that overlap. */
const rowsMax = 3000;

/** Records remembered, so that the overlap is not looked at again. Beyond it, some are. */
const lookedMax = 200_000;

/** How far a walk may get ahead of what is kept of it. */
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
  const swept = await ledger.findSweptBlock(chain.chainId);
  if (swept && swept.number > view.head.number) return;
  const probed = await probe(pass, await subjectsOf(pass, fresh));
  if (!probed) return;
  if (probed.paid.length > 0) {
    const woken = await ledger.saveLook(pass.fence, probed.paid, undefined);
    const blockNumber = view.head.number;
    for (const { address } of woken) parts.report({ kind: "detected", address, blockNumber });
  }
  // Only now: what could not be kept is looked at again.
  walk.isWhole &&= probed.isWhole;
  walk.isCorroborated &&= probed.isCorroborated;
  if (probed.isWhole && probed.isCorroborated) remember(looks, fresh);
  if (next) walk.place = next;
  else await endWalk(pass, walk);
}

async function beginWalk({ parts, memory: { looks } }: Pass): Promise<Walk> {
  const { ledger, chain } = parts;
  if (!looks.since) {
    const kept = await ledger.findLookedSince(chain.chainId);
    looks.since = { known: kept, kept };
  }
  const from = Math.max(0, looks.since.known - overlapMs);
  for (const [address, createdAt] of looks.looked) {
    if (createdAt < from) looks.looked.delete(address);
  }
  const clock = await ledger.readClock();
  const span = { from, until: clock + overlapMs };
  return { span, clock, place: startPlace, isWhole: true, isCorroborated: true };
}

async function endWalk({ parts, memory: { looks }, fence }: Pass, walk: Walk): Promise<void> {
  const since = looks.since!;
  looks.walk = undefined;
  if (!walk.isWhole) return;
  const reached = walk.isCorroborated ? walk.clock : walk.clock - uncorroboratedMs;
  since.known = Math.max(since.known, reached);
  if (since.known - since.kept < keepEveryMs) return;
  await parts.ledger.saveLook(fence, [], since.known);
  since.kept = since.known;
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

/** Those of this chain. A record is believed for its look alone: `examine` verifies it. */
async function subjectsOf({ parts }: Pass, fresh: readonly Created[]): Promise<Holder[]> {
  const heads = await parts.ledger.findTermsHeads(fresh.map(({ address }) => address));
  return heads.flatMap(({ address, head }) => {
    const words = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("hex");
    // The tuple's words follow its offset: token first, chain id seventh. spec/terms.md §2.
    if (BigInt(`0x0${words.slice(448, 512)}`) !== BigInt(parts.chain.chainId)) return [];
    return [{ vault: address, token: `0x${words.slice(88, 128)}` as Hex }];
  });
}

type Probed = { paid: JobHint[]; isWhole: boolean; isCorroborated: boolean };

/** @returns undefined where it was too much for the endpoints: the next step asks for less */
async function probe(pass: Pass, subjects: readonly Holder[]): Promise<Probed | undefined> {
  const { looks } = pass.memory;
  const found: Probed = { paid: [], isWhole: true, isCorroborated: true };
  try {
    for (let at = 0; at < subjects.length; at += holdersMax) {
      const { paid, isCorroborated } = await probePart(pass, subjects.slice(at, at + holdersMax));
      found.paid.push(...paid);
      found.isCorroborated &&= isCorroborated;
    }
    looks.stepMax = Math.min(looks.stepMax * 2, rowsMax);
    return found;
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    looks.stepMax = Math.max(1, Math.floor(Math.min(looks.stepMax, subjects.length) / 4));
    // One that no endpoint answers for holds up no other: the next walk comes to it again.
    return subjects.length > 1 ? undefined : { ...found, isWhole: false };
  }
}

/** Money that any of several endpoints shows is enough for a hint. */
async function probePart(pass: Pass, subjects: readonly Holder[]) {
  const { parts, memory, view } = pass;
  const { head } = view;
  const wanted = {
    chainId: parts.chain.chainId,
    timestamp: head.timestamp,
    count: subjects.length,
  };
  const holdings = (answer: Answer) => holdingsIn(hexData(resultOf(answer)), wanted);
  const isUsable = (answer: Answer) => {
    try {
      return holdings(answer).length > 0;
    } catch {
      return false;
    }
  };
  const call = { method: "eth_call", params: [{ data: probeData(subjects) }, view.at] };
  const answers = await view.readSeveral([call], memory.looks.turn++, isUsable);
  const all = answers.map(([answer]) => holdings(answer!));
  const isPaid = (index: number) =>
    all.some((each) => each[index]!.native > 0n || (each[index]!.balance ?? 0n) > 0n);
  const paid = subjects.flatMap(({ vault }, index) =>
    isPaid(index) ? [{ address: vault, block: { number: head.number, timestamp: pass.now } }] : [],
  );
  return { paid, isCorroborated: answers.length >= view.quorum };
}
