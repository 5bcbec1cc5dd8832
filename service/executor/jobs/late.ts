// Repairs jobs that were postponed too far because a block had a wrong timestamp. Also measures how
// long the oldest payment has waited. The repair and the measurement read the database less often
// than once per pass.

import { daySeconds } from "../../flow/days.ts";
import type { LatePlace } from "../ledger/late.ts";
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

type LatePass = Pass<LateMemory>;

/**
 * A job is due within this number of seconds, unless it waits for its intent to expire. A wait for
 * a budget ends at midnight, and a backoff takes at most six hours.
 */
const dueSecondsMax = daySeconds;

const searchEveryMs = 600_000;

/**
 * Makes jobs due if a wrong block time postponed them for more than `dueSecondsMax`. A search
 * begins every `searchEveryMs`, and needs several calls if there are many late jobs. At its end,
 * the search reports the number of changed jobs.
 */
export async function searchLateJobs(pass: LatePass): Promise<void> {
  const { parts, memory, fence, view } = pass;
  const search = memory.late;
  const { timestamp } = view.head;
  if (!search.place) {
    if (parts.clock() - search.beganMs < searchEveryMs) return;
    search.beganMs = parts.clock();
    search.found = 0;
    search.place = { dueAtSeconds: timestamp + dueSecondsMax, address: "0x" };
  }
  const { count, next } = await parts.ledger.pullLate(fence, search.place);
  search.found += count;
  search.place = next;
  if (!next) parts.report({ kind: "late_jobs", count: search.found });
}

const readEveryMs = 60_000;

/** Returns how long the oldest payment has waited. Reads the database every `readEveryMs`. */
export async function recallWaitedSeconds(pass: LatePass): Promise<number> {
  const { parts, memory, nowSeconds } = pass;
  const nowMs = parts.clock();
  if (nowMs - memory.waited.atMs >= readEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.waited = { seconds, atMs: nowMs };
  }
  return memory.waited.seconds;
}
