// Measures how long an operation occupies the thread that runs it.

import { heldUpMs } from "../held-up.ts";

/**
 * Returns the duration of `run` and of its longest turn of the event loop, in milliseconds.
 * Excludes the time for which the thread waited for a processor.
 */
export async function turnsOf(
  run: () => Promise<unknown>,
): Promise<{ longest: number; all: number }> {
  let longest = 0;
  const ownMs = () => performance.now() - heldUpMs(process.pid);
  const began = ownMs();
  let last = began;
  let isOver = false;
  const tick = () => {
    const now = ownMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await run();
  isOver = true;
  tick();
  return { longest, all: last - began };
}
