// Calls the subscribers of a chain whenever the chain's newest block changes. Each process has its
// own loop for each chain. An iteration of the loop (a turn) starts:
// - when there is a new block
// - when the executor has saved the payments up to this block
// - after each poll interval, because some work is due at a certain time
//
// In a process with an executor, the executor normally passes the newest blocks to this loop. If
// the executor passes no further block, the loop requests the newest block itself. `readNext` in
// chain/rpc/heads.ts determines when. The executor may be busy, or another process may have the
// chain's lease. The executor also polls less often if no address is open
// (executor/decide-poll.ts). In a process without an executor, the loop requests every block.

import { AsyncResource } from "node:async_hooks";
import type { BlockReference } from "executable-address/status";
import type { Heads } from "../chain/rpc/heads.ts";

export type ChainLoop = {
  /**
   * Calls `run` now and in each iteration. Two calls of `run` never overlap. If an iteration starts
   * while `run` is running, calls `run` again afterward. `run` must not reject.
   *
   * @returns a function that ends the subscription, and resolves when the current call has finished
   */
  subscribe(run: () => Promise<void>): () => Promise<void>;
  /** Starts an iteration now. Called after each sweep (sweep.ts), which may have saved payments. */
  startTurn(): void;
  /**
   * Returns the newest block. Requests it only if the next block is expected by now.
   *
   * @throws {ChainUnavailable}
   */
  readHead(): Promise<BlockReference>;
};

/** @param pollMs the maximum time between two iterations */
export function openChainLoop(heads: Heads, pollMs: number): ChainLoop {
  const starts = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;
  let stopListening = () => {};
  const startTurn = () => {
    clearTimeout(timer);
    if (starts.size > 0) timer = setTimeout(startTurn, pollMs).unref();
    for (const start of starts) start();
  };
  return {
    subscribe(run) {
      if (starts.size === 0) {
        stopListening = heads.subscribe(startTurn);
        timer = setTimeout(startTurn, pollMs).unref();
      }
      const runs = openRuns(run);
      // An HTTP request that reads the newest block can start an iteration of the loop. `bind`
      // prevents the iteration from running in the async context of that request.
      const start = AsyncResource.bind(runs.start);
      starts.add(start);
      start();
      return () => {
        if (starts.delete(start) && starts.size === 0) {
          clearTimeout(timer);
          stopListening();
        }
        return runs.end();
      };
    },
    startTurn,
    readHead: () => heads.readNext(pollMs),
  };
}

/** Runs one subscriber, never twice at the same time. */
function openRuns(run: () => Promise<void>) {
  let isDue = false;
  let isEnded = false;
  let running: Promise<void> | undefined;
  const runWhileDue = async () => {
    while (isDue && !isEnded) {
      isDue = false;
      await run();
    }
    running = undefined;
  };
  return {
    start() {
      isDue = true;
      running ??= runWhileDue();
    },
    async end() {
      isEnded = true;
      await running;
    },
  };
}
