// Several endpoints of one chain, none of them trusted alone. A view is what one pass works with:
// the head it believes, reads that fall back, and answers side by side where one could deceive.
//
// Two endpoints are never worse than one. The head is the newest block that enough of them have
// reached, so an endpoint that claims later blocks changes nothing. One whose head does not move
// while another's does counts as silent. One that was silent for minutes is left out of the count
// until it answers again.

import type { Hex } from "executable-address";
import type { Endpoint } from "./endpoint.ts";
import {
  type Block,
  blockCall,
  blockOf,
  ChainUnavailable,
  quantity,
  resultOf,
} from "./json-rpc.ts";
import {
  ask,
  countOut,
  type Known,
  type NetworkEvent,
  type NetworkState,
  punish,
  unknown,
  willing,
} from "./known.ts";
import { type View, viewOf } from "./view.ts";

export type Network = {
  /** Asks every endpoint where it is. @throws {ChainUnavailable} when none is on this chain */
  openView(): Promise<View>;
};

/** Views after which an endpoint is asked again which chain it is of. */
const viewsPerChainCheck = 300;
/** An endpoint whose head is lower than another's and did not move for so long is ignored. */
const frozenMs = 60_000;

/** @param clock milliseconds by a clock that does not go back */
export function openNetwork(
  chainId: number,
  endpoints: Endpoint[],
  report: (event: NetworkEvent) => void,
  clock: () => number,
): Network {
  const state = { chainId, all: endpoints.map(unknown), report, clock };
  return { openView: () => openView(state) };
}

async function openView(state: NetworkState): Promise<View> {
  const asked = willing(state).map((known) => findWhere(state, known));
  const found = (await Promise.all(asked)).filter((entry) => entry !== undefined);
  if (found.length === 0) {
    throw new ChainUnavailable(`no endpoint of chain ${state.chainId} answers as itself`);
  }
  reportForks(found, state.report);
  const expected = state.all.length - countOut(state);
  const quorum = Math.max(1, Math.min(2, expected));
  const { head, order } = believed(found, quorum, state.clock());
  return viewOf(state, { head, order, quorum, isWhole: found.length >= expected });
}

/** Where an endpoint stands; undefined where it failed, or is of another chain. */
async function findWhere(state: NetworkState, known: Known): Promise<Found | undefined> {
  const { chainId, clock, report } = state;
  const isChecked = known.chainCheckIn-- > 0;
  const calls = [blockCall("latest")];
  if (!isChecked) calls.push({ method: "eth_chainId", params: [] });
  const answers = await ask(state, known, calls);
  if (!answers) return undefined;
  try {
    const found = isChecked ? chainId : Number(quantity(resultOf(answers[1])));
    if (found !== chainId) {
      known.chainCheckIn = 0;
      known.failingSinceMs ??= clock();
      report({ kind: "rpc_wrong_chain", rpc: known.endpoint.name, found });
      return undefined;
    }
    if (!isChecked) known.chainCheckIn = viewsPerChainCheck;
    const head = blockOf(resultOf(answers[0]));
    if (known.head?.block.hash !== head.hash) known.head = { block: head, sinceMs: clock() };
    known.failingSinceMs = undefined;
    known.isOut = false;
    return { known, head, sinceMs: known.head!.sinceMs };
  } catch (error) {
    punish(state, known, (error as Error).message);
    return undefined;
  }
}

type Found = { known: Known; head: Block; sinceMs: number };

/**
 * The newest block that `quorum` of those that are alive have reached, and whom to ask about it:
 * those that showed it, those beyond it, and last those that may not have it yet.
 */
function believed(found: Found[], quorum: number, nowMs: number): { head: Block; order: Known[] } {
  const byHeight = found.toSorted((a, b) => b.head.number - a.head.number);
  const highest = byHeight[0]!;
  const isFrozen = ({ head, sinceMs }: Found) =>
    head.number < highest.head.number && nowMs - sinceMs > frozenMs;
  const alive = byHeight.filter((each) => !isFrozen(each));
  const { head } = alive[Math.min(quorum, alive.length) - 1]!;
  const rank = (each: Found) => {
    if (each.head.hash === head.hash) return 0;
    return each.head.number >= head.number ? 1 : 2;
  };
  const order = found.toSorted((a, b) => rank(a) - rank(b)).map(({ known }) => known);
  return { head, order };
}

/** Two endpoints at one height with two hashes: a reorg in passing, or one of them lies. */
function reportForks(found: Found[], report: (event: NetworkEvent) => void) {
  const byNumber = new Map<number, Hex>();
  for (const { known, head } of found) {
    const other = byNumber.get(head.number);
    byNumber.set(head.number, head.hash);
    if (!other || other === head.hash) continue;
    const { name } = known.endpoint;
    const detail = `${name} has ${head.hash} at ${head.number}, another has ${other}`;
    report({ kind: "rpc_disagreement", about: "head", detail });
  }
}
