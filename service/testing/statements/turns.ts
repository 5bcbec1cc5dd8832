import { heldUpMs } from "../held-up.ts";

/**
 * Measures how long an operation blocks its thread. Returns the longest turn of the event loop, and
 * the total duration, in milliseconds. Both exclude the time for which the thread was waiting for a
 * processor.
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
