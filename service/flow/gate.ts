// A few at once, the others in the order in which they came.

/** Runs at most `max` at once, in the order of asking. */
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

/** Runs a read when its turn comes; gives undefined where nobody waits for it any more. */
export type Turn = <Done>(read: () => Promise<Done>) => Promise<Done | undefined>;

export const atOnce: Turn = (read) => read();
