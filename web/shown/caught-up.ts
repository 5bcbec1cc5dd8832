// This file is separate from the code that subscribes to a status, because the dashboard loads only
// this file.

/** The server may read a block slightly older than the status. */
const behindMs = 500;
const triesMax = 4;

/** Repeats a request while its result is older than the status that caused it. */
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
