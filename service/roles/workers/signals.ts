// SIGTERM and SIGINT: the first drains, a later one ends the process immediately.

/** One Ctrl-C can come from the terminal and from npm: within this time it is the same signal. */
const sameSignalMs = 1000;

/**
 * @param drain called once
 * @param end called for each later signal
 */
export function onStopSignals(drain: (signal: NodeJS.Signals) => void, end: () => void): void {
  let firstAtMs: number | undefined;
  const stop = (signal: NodeJS.Signals) => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      drain(signal);
    } else if (nowMs - firstAtMs >= sameSignalMs) end();
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
