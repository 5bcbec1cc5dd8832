// What is known of each endpoint of a chain: whether it answers, its head, and for how many passes
// it is not asked after a failure.

import type { Endpoint } from "./endpoint.ts";
import type { Answer, Block, Call } from "./json-rpc.ts";

export type NetworkEvent =
  | { kind: "rpc_failed"; rpc: string; message: string }
  | { kind: "rpc_wrong_chain"; rpc: string; found: number }
  | { kind: "rpc_out"; rpc: string }
  | { kind: "rpc_disagreement"; about: "head" | "receipt" | "state"; detail: string };

/** Passes in which a failed endpoint is not asked: doubled with each failure up to this. */
const penaltyMax = 16;
/** Silent for so long, an endpoint is not waited for any more. */
const outMs = 300_000;

/** What is known of one endpoint. */
export type Known = {
  endpoint: Endpoint;
  penalty: { passes: number; last: number };
  /** Views until it has to name its chain again. */
  chainCheckIn: number;
  head: { block: Block; sinceMs: number } | undefined;
  /** When it began to fail, since it last answered. */
  failingSinceMs: number | undefined;
  isOut: boolean;
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
  failingSinceMs: undefined,
  isOut: false,
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

export function punish({ clock, report }: NetworkState, known: Known, message: string): void {
  const last = Math.min(known.penalty.last * 2 || 1, penaltyMax);
  known.penalty = { passes: last, last };
  known.chainCheckIn = 0;
  known.failingSinceMs ??= clock();
  report({ kind: "rpc_failed", rpc: known.endpoint.name, message });
}

/** Those whose penalty has passed; all where there is none. One that hangs costs its timeout. */
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
