// This function has its own file, because the dashboard loads it without the code that subscribes
// to a status.

/**
 * The delay before another request. The server may have read a slightly older block than that of
 * the status.
 */
const behindMs = 500;
const triesMax = 4;

/**
 * Sends a request until its response is at least as new as the status that caused the request, but
 * at most four times.
 */
export async function askUntilCaughtUp<T>(
  ask: () => Promise<T>,
  isBehind: (found: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const found = await ask();
    if (signal.aborted || tries === triesMax || !isBehind(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, behindMs));
  }
}
