// Functions for waiting: for a free slot, until a timeout, or before a retry.

/** Returns a function that runs tasks in order, and at most `max` tasks simultaneously. */
export function openGate(max: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <Done>(run: () => Promise<Done>): Promise<Done> => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/**
 * Runs `read` when all earlier reads in the queue have finished. Returns undefined if the client
 * has disconnected. In HTTP requests (http/lists/turn.ts), throws an error with status 429 or 503
 * if the account reads too many rows.
 */
export type ReadQueue = <Done>(read: () => Promise<Done>) => Promise<Done | undefined>;

export const withoutQueue: ReadQueue = (read) => read();

/**
 * Returns the result of `promise`, or throws if it takes longer than `ms` milliseconds.
 *
 * @param late returns the error to throw; `promise` is not canceled
 */
export function within<Done>(ms: number, promise: Promise<Done>, late: () => Error): Promise<Done> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}

/**
 * Returns how long to wait after attempt number `attempt`, which starts at 1. The time doubles with
 * each attempt, from `first` up to `longest`. All times have the same unit.
 */
export const backoff = (attempt: number, first: number, longest: number): number =>
  Math.min(longest, first * 2 ** Math.min(attempt - 1, 30));
