// The newest block of each chain as the loop of this process last believed it, for whatever else
// in the process works by heads: nobody else has to ask for them while the loop runs.

import type { Block } from "../chain/rpc/json-rpc.ts";

export type Heads = {
  note(chainId: number, head: Block): void;
  /** Undefined where the loop does not run here, or has not heard of its chain lately. */
  recent(chainId: number): Block | undefined;
};

/** A loop rests for less than this between two looks at its chain. */
const recentMs = 30_000;

/** @param clock milliseconds by a clock that does not go back */
export function openHeads(clock: () => number): Heads {
  const heads = new Map<number, { head: Block; atMs: number }>();
  return {
    note: (chainId, head) => heads.set(chainId, { head, atMs: clock() }),
    recent(chainId) {
      const known = heads.get(chainId);
      return known && clock() - known.atMs < recentMs ? known.head : undefined;
    },
  };
}
