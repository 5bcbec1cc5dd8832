// Adds time limits to promises, computes retry delays, and sleeps without keeping the process
// alive.

import { setTimeout as sleep } from "node:timers/promises";

/**
 * Returns the result of `promise`, or throws if it takes longer than `ms` milliseconds. Does not
 * cancel `promise`.
 *
 * @param late a function that creates the error to throw
 */
export function withTimeout<Done>(
  ms: number,
  promise: Promise<Done>,
  late: () => Error,
): Promise<Done> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}

/** Resolves after `ms` milliseconds. The wait does not keep the process alive. */
export const sleepUnref = (ms: number): Promise<void> => sleep(ms, undefined, { ref: false });

/**
 * Returns how long to wait after attempt number `attempt`, which starts at 1. The time doubles with
 * each attempt, from `first` up to `longest`. The result has the same unit as `first` and
 * `longest`.
 */
export const backoff = (attempt: number, first: number, longest: number): number =>
  Math.min(longest, first * 2 ** Math.min(attempt - 1, 30));
