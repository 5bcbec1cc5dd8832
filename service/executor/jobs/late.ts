// Finds jobs that were postponed too far because a block had a wrong timestamp. Also reads how long
// the oldest payment has waited, and caches the value for a minute.

import { daySeconds } from "../../flow/days.ts";
import type { LatePlace } from "../ledger/due.ts";
import type { Pass } from "../pass.ts";

export type LateMemory = {
  /**
   * The current search for jobs that were postponed too far. `place` is the position at which the
   * search continues, and `found` is the number of jobs changed so far.
   */
  late: { place: LatePlace | undefined; beganMs: number; found: number };
  /** How long the oldest payment has waited, and when this value was read. */
  waited: { seconds: number; atMs: number };
};

export const openLateMemory = (): LateMemory => ({
  late: { place: undefined, beganMs: Number.NEGATIVE_INFINITY, found: 0 },
  waited: { seconds: 0, atMs: Number.NEGATIVE_INFINITY },
});

/**
 * The maximum valid time until a job is due, in seconds. A wait for a budget ends at midnight, and
 * a backoff takes at most six hours.
 */
const dueSecondsMax = daySeconds;

const searchEveryMs = 600_000;

/**
 * Makes jobs due if a wrong block time postponed them for more than a day. A search begins every
 * ten minutes and examines up to a hundred jobs per call. At its end, the search reports the number
 * of changed jobs.
 */
export async function searchLateJobs(pass: Pass<LateMemory>): Promise<void> {
  const { parts, memory, fence, view } = pass;
  const search = memory.late;
  const { timestamp } = view.head;
  if (!search.place) {
    if (parts.clock() - search.beganMs < searchEveryMs) return;
    search.beganMs = parts.clock();
    search.found = 0;
    search.place = { dueAt: timestamp + dueSecondsMax, address: "0x" };
  }
  const { count, next } = await parts.ledger.pullLate(fence, search.place);
  search.found += count;
  search.place = next;
  if (!next) parts.report({ kind: "late_jobs", count: search.found });
}

const readEveryMs = 60_000;

/** Does the same as `readWaitedSeconds` (ledger/due.ts), but reads the database once a minute. */
export async function recallWaitedSeconds(pass: Pass<LateMemory>): Promise<number> {
  const { parts, memory, nowSeconds } = pass;
  const nowMs = parts.clock();
  if (nowMs - memory.waited.atMs >= readEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.waited = { seconds, atMs: nowMs };
  }
  return memory.waited.seconds;
}
