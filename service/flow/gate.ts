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
