// Limits how many tasks run simultaneously, and runs waiting tasks in order.

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
