// SIGTERM and SIGINT: the first drains, a later one ends at once.

/** One Ctrl-C may come from the terminal and from npm: within this time it is the same signal. */
const sameSignalMs = 1000;

/**
 * @param drain called once
 * @param end called for each signal that comes later than that
 */
export function onStopSignals(drain: (signal: NodeJS.Signals) => void, end: () => void): void {
  let firstAt: number | undefined;
  const stop = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      drain(signal);
    } else if (now - firstAt >= sameSignalMs) end();
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
