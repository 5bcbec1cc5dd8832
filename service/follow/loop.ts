// The loop of one chain in one process. All work that depends on the chain's newest block runs in
// the turns of this loop. A turn starts when a new block is seen, and again when the executor has
// saved the payments up to that block. A turn also starts at every poll, because some work becomes
// due at a certain time, and a chain may produce no blocks.
//
// In a process with an executor, the executor's passes record the heads that they read, and this
// loop requests no heads. The loop requests heads only if the passes have recorded none for two
// polls: during a long pass, while another process has the chain's lease, or while the chain sleeps
// because no address is open (executor/rest.ts). In a process without an executor, the loop
// requests every head itself.

import { AsyncResource } from "node:async_hooks";
import type { BlockReference } from "executable-address/status";
import type { Heads } from "../chain/rpc/heads.ts";

export type ChainLoop = {
  /**
   * Runs `run` now and in each turn, but never twice simultaneously. If a turn starts while `run`
   * is in progress, `run` is called again afterwards. `run` must not reject.
   *
   * @returns a function that ends the subscription, and resolves after the current run has ended
   */
  subscribe(run: () => Promise<void>): () => Promise<void>;
  /** Starts a turn now. Called after each sweep (sweep.ts), which may have saved payments. */
  startTurn(): void;
  /**
   * Returns the newest block. Requests the block only if the next block is expected by now.
   *
   * @throws {ChainUnavailable}
   */
  readHead(): Promise<BlockReference>;
};

/** @param pollMs the maximum time between two turns */
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
      // An HTTP request that reads a head can start a turn. Without this binding, the turn would be
      // part of the request's trace.
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

/** Runs one subscriber. The subscriber's runs never overlap. */
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
