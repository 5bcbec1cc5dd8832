// Remembers each endpoint of a chain: whether it answers, its head, for how many passes it is not
// asked after a failure, and its score, which counts failures and contradictions of what enough
// others show. The worst are asked last.

import type { Endpoint } from "./endpoint.ts";
import type { Answer, Block, Call } from "./json-rpc.ts";

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_out"; rpc: string }
  | { kind: "rpc_differs"; rpc: string; method: string }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/** Passes in which a failed endpoint is not asked: doubled with each failure up to this. */
const penaltyMax = 16;
/** Silent for so long, an endpoint is not waited for any more. */
const outMs = 300_000;
/** Half of a score is forgotten in this time. */
const scoreHalfMs = 600_000;
const points = { failed: 0.5, differs: 1 };
/** Beyond it, a score grows no more: an endpoint that is mended is back within the hour. */
const scoreMax = 20;

/** One endpoint, with what was seen of it. */
export type Known = {
  endpoint: Endpoint;
  penalty: { passes: number; last: number };
  /** Views until it has to name its chain again. */
  chainCheckIn: number;
  /** `below`: a block under it that was asked for. */
  head: { block: Block; below?: Block; sinceMs: number } | undefined;
  /** Milliseconds that it lately took for its newest block. */
  paceMs: number;
  /** When it began to fail, since it last answered. */
  failingSinceMs: number | undefined;
  isOut: boolean;
  /** Points against it, as of `sinceMs`. */
  score: { points: number; sinceMs: number };
};

/** `clock`: milliseconds by a clock that does not go back. */
export type NetworkState = {
  chainId: number;
  all: Known[];
  report(event: NetworkEvent): void;
  clock(): number;
};

export const unknown = (endpoint: Endpoint): Known => ({
  endpoint,
  penalty: { passes: 0, last: 0 },
  chainCheckIn: 0,
  head: undefined,
  paceMs: 0,
  failingSinceMs: undefined,
  isOut: false,
  score: { points: 0, sinceMs: 0 },
});

/** @returns undefined where it failed, which is noted */
export async function ask(
  state: NetworkState,
  known: Known,
  calls: Call[],
): Promise<Answer[] | undefined> {
  try {
    return await known.endpoint.ask(calls);
  } catch (error) {
    punish(state, known, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

export function punish(state: NetworkState, known: Known, message: string): void {
  const last = Math.min(known.penalty.last * 2 || 1, penaltyMax);
  known.penalty = { passes: last, last };
  known.chainCheckIn = 0;
  known.failingSinceMs ??= state.clock();
  addPoints(state, known, points.failed);
  state.report({ kind: "rpc_failed", rpc: known.endpoint.name, message });
}

/** It says of `method` what enough others contradict. */
export function contradict(state: NetworkState, known: Known, method: string): void {
  addPoints(state, known, points.differs);
  state.report({ kind: "rpc_differs", rpc: known.endpoint.name, method });
}

function addPoints({ clock }: NetworkState, known: Known, more: number): void {
  const nowMs = clock();
  known.score = { points: Math.min(scoreMax, scoreOf(known, nowMs) + more), sinceMs: nowMs };
}

/** Points against it now; 0 is the best. */
export const scoreOf = ({ score }: Known, nowMs: number): number =>
  score.points * 2 ** (-(nowMs - score.sinceMs) / scoreHalfMs);

/** The endpoints whose penalty has passed, or all. One that hangs costs its timeout. */
export function willing({ all }: NetworkState): Known[] {
  for (const { penalty } of all) {
    if (penalty.passes > 0) penalty.passes--;
    else penalty.last = Math.floor(penalty.last / 2);
  }
  const found = all.filter(({ penalty }) => penalty.passes === 0);
  return found.length > 0 ? found : all;
}

/** How many have been silent for {@link outMs}. Each is told of once. */
export function countOut({ all, clock, report }: NetworkState): number {
  for (const known of all) {
    const { failingSinceMs, isOut } = known;
    if (isOut || failingSinceMs === undefined || clock() - failingSinceMs < outMs) continue;
    known.isOut = true;
    report({ kind: "rpc_out", rpc: known.endpoint.name });
  }
  return all.filter(({ isOut }) => isOut).length;
}
