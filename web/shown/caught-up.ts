// Repeats a request until the server has reached the block of the status that the page shows.

/**
 * The delay before another request. The page repeats a request if the server used an older block
 * than the block of the status.
 */
const behindMs = 500;
const triesMax = 4;

/**
 * Sends a request until the response is at least as new as the status that caused the request.
 * Makes at most four attempts.
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
