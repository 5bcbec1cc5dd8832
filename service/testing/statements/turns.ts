import { type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The maximum time for which an operation may block the main thread without interruption. */
export const turnMsMax = 5;
/** Shorter turns are not stored, because an operation can have more than a million turns. */
const storedMsMin = 0.5;

/** A turn of the event loop, and the processor time of its thread. All times in milliseconds. */
type Turn = { beganMs: number; endedMs: number; usedMs: number };

/**
 * Measures how long an operation blocks its thread. Returns the processor time of the longest turn
 * of the event loop, and of the whole operation, in milliseconds. Processor time excludes the time
 * for which the thread waits for a processor, or for a lock that another thread holds. Node 22
 * cannot measure the processor time of one thread, so on Node 22, the results are elapsed times.
 *
 * The longest turn also excludes garbage collection. An operation that takes many seconds contains
 * collections of the whole heap, whose duration depends on the other objects of the process.
 */
export async function turnsOf(
  run: () => Promise<unknown>,
): Promise<{ longest: number; all: number }> {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ type: "gc" });
  const turns: Turn[] = [];
  const beganUsedMs = readUsedMs();
  let beganMs = performance.now();
  let lastUsedMs = beganUsedMs;
  let isOver = false;
  const tick = () => {
    const endedMs = performance.now();
    const nowUsedMs = readUsedMs();
    // Linux updates the processor time every few milliseconds, so a short turn can contain an
    // increase of several milliseconds.
    const usedMs = Math.min(nowUsedMs - lastUsedMs, endedMs - beganMs);
    if (usedMs >= storedMsMin) turns.push({ beganMs, endedMs, usedMs });
    beganMs = endedMs;
    lastUsedMs = nowUsedMs;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await run();
  isOver = true;
  tick();
  // Node reports a collection to the observer within the next few turns.
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  collections.push(...observer.takeRecords());
  observer.disconnect();
  const longest = Math.max(0, ...turns.map((turn) => turn.usedMs - overlapMs(turn, collections)));
  return { longest, all: lastUsedMs - beganUsedMs };
}

function readUsedMs(): number {
  const used = process.threadCpuUsage?.();
  return used ? (used.user + used.system) / 1_000 : performance.now();
}

/** Returns the time that the garbage collections took during a turn. */
function overlapMs({ beganMs, endedMs }: Turn, collections: readonly PerformanceEntry[]): number {
  return collections
    .map(({ startTime, duration }) => {
      return Math.min(endedMs, startTime + duration) - Math.max(beganMs, startTime);
    })
    .filter((ms) => ms > 0)
    .reduce((sum, ms) => sum + ms, 0);
}
