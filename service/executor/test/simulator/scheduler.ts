// A scheduler whose time advances only while all tasks wait, so that runs are reproducible.

import { setImmediate as macrotask } from "node:timers/promises";

export type Random = () => number;

/** Mulberry32: small, fast, and the same on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export type Scheduler = {
  /** Milliseconds since the simulation began. */
  now(): number;
  sleep(ms: number): Promise<void>;
  at(ms: number, run: () => void): void;
  /** Advances the time up to `untilMs`. */
  run(untilMs: number): Promise<void>;
};

export function createScheduler(): Scheduler {
  let clock = 0;
  let order = 0;
  const queue: { at: number; order: number; run: () => void }[] = [];
  const at = (ms: number, run: () => void) => {
    queue.push({ at: Math.max(ms, clock), order: order++, run });
  };
  return {
    now: () => clock,
    at,
    sleep: (ms) => new Promise((resolve) => at(clock + ms, resolve)),
    async run(untilMs) {
      for (;;) {
        // After one macrotask, no promise callback is pending, and every task waits for a scheduled
        // time.
        await macrotask();
        let next = 0;
        for (let i = 1; i < queue.length; i++) {
          const [a, b] = [queue[i]!, queue[next]!];
          if (a.at < b.at || (a.at === b.at && a.order < b.order)) next = i;
        }
        const event = queue[next];
        if (!event || event.at > untilMs) break;
        queue.splice(next, 1);
        clock = event.at;
        event.run();
      }
      clock = untilMs;
    },
  };
}
