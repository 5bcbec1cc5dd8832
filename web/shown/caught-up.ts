// Repeats a request until the server's response is at least as new as the status on the page.

import { sleep } from "../ui/sleep.ts";

/** The delay between two attempts of a request. */
const behindMs = 500;
const triesMax = 4;

/**
 * Returns the first response that is new enough. After four attempts, returns the last response.
 */
export async function askUntilCaughtUp<T>(
  ask: () => Promise<T>,
  isBehind: (found: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const found = await ask();
    if (signal.aborted || tries === triesMax || !isBehind(found)) return found;
    await sleep(behindMs);
  }
}
