// Handles SIGTERM and SIGINT. The first signal drains the process, and a later signal ends it
// immediately.

/**
 * The time after the first signal in which further signals are ignored. A single Ctrl-C can send
 * two signals: one from the terminal and one from npm.
 */
const sameSignalMs = 1000;

/**
 * @param drain called once, for the first signal
 * @param end called for each signal that arrives at least {@link sameSignalMs} after the first
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
