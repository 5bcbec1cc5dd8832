// Apart from the code that follows a status: the dashboard loads this and not that.

/** The server may look at a block a little older than the one that brought the news. */
const behindMs = 500;
const triesMax = 4;

/** Asks again while what is found is older than the news that it was asked for. */
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
