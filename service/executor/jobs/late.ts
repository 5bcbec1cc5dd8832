// A clock that was wrong for a moment may have put jobs off for weeks. They are looked for every
// ten minutes, a hundred at a time, told of, and made due.

import type { JobsMemory, Pass } from "../parts.ts";

/** Recoveries of a spent day wait longest: until midnight. Backoffs end within six hours. */
const waitSecondsMax = 86_400;
const everyMs = 600_000;

export const freshLate = (): Pick<JobsMemory, "late" | "waited"> => ({
  late: { place: undefined, beganMs: Number.NEGATIVE_INFINITY, found: 0 },
  waited: { seconds: 0, atMs: Number.NEGATIVE_INFINITY },
});

export async function pullLateJobs({ parts, memory, fence, view }: Pass): Promise<void> {
  const walk = memory.jobs.late;
  const { timestamp } = view.head;
  if (!walk.place) {
    if (parts.clock() - walk.beganMs < everyMs) return;
    walk.beganMs = parts.clock();
    walk.found = 0;
    walk.place = { dueAt: timestamp + waitSecondsMax, address: "0x" };
  }
  const { count, next } = await parts.ledger.pullLate(fence, walk.place);
  walk.found += count;
  walk.place = next;
  if (!next) parts.report({ kind: "late_jobs", count: walk.found });
}

const readEveryMs = 60_000;

/** Tells how long the oldest payment waits for the executor itself; read once a minute. */
export async function waitedSeconds({ parts, memory, nowSeconds }: Pass): Promise<number> {
  const nowMs = parts.clock();
  if (nowMs - memory.jobs.waited.atMs >= readEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.jobs.waited = { seconds, atMs: nowMs };
  }
  return memory.jobs.waited.seconds;
}
