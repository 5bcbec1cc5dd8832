import { type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The maximum time for which an operation may block the main thread without interruption. */
export const turnMsMax = 5;
/** Shorter turns are not stored, because an operation can have more than a million turns. */
const storedMsMin = 0.5;

/**
 * One turn of the event loop. `usedMs` is the processor time that the thread used during the turn.
 */
type Turn = { beganMs: number; endedMs: number; usedMs: number };

/**
 * Measures how long an operation blocks its thread. Returns two processor times in milliseconds:
 * the longest turn of the event loop, and the whole operation. Processor time excludes waits for a
 * processor or for another thread's lock. Node 22 cannot measure one thread's processor time, so
 * its results are elapsed times.
 *
 * The longest turn also excludes garbage collection. During an operation of many seconds, the whole
 * heap is collected. The duration of this collection depends on all objects in the process.
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
    // Linux updates the processor time every few milliseconds. A short turn can therefore include
    // several extra milliseconds.
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
  // Node reports a garbage collection to the observer up to a few turns later.
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
