// Measures how long payments have waited, and finds jobs that a block with a wrong timestamp has
// postponed too far.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import { daySeconds } from "../../flow/days.ts";
import { statementRows } from "../../flow/groups.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";
import { reasonsWith } from "./reasons.ts";

export type LateMemory = {
  /**
   * The current search for jobs that were postponed too far: its position, its start time, and the
   * number of jobs found.
   */
  late: { place: LatePlace | undefined; beganMs: number; found: number };
  /**
   * The time for which the oldest payment has waited, and the time at which this value was read.
   */
  waited: { seconds: number; atMs: number };
};

export const openLateMemory = (): LateMemory => ({
  late: { place: undefined, beganMs: Number.NEGATIVE_INFINITY, found: 0 },
  waited: { seconds: 0, atMs: Number.NEGATIVE_INFINITY },
});

type LatePass = {
  parts: {
    chain: { chainId: number };
    ledger: {
      pullLate(fence: Fence, place: LatePlace): ReturnType<typeof pullLate>;
      readWaitedSeconds(chainId: number, nowSeconds: number): Promise<number>;
    };
    clock: () => number;
    report: (event: { kind: "late_jobs"; count: number }) => void;
  };
  memory: LateMemory;
  fence: Fence;
  view: { head: { timestamp: number } };
  nowSeconds: number;
};

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
export async function searchLateJobs({ parts, memory, fence, view }: LatePass): Promise<void> {
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

export type LatePlace = { dueAt: number; address: Hex };

const untilExpiry = new Set<string | null>(reasonsWith("untilExpiry"));

/**
 * Makes jobs due immediately, unless they wait for their intents to expire. Starts after `place`,
 * which consists of a due time and an address.
 *
 * @returns the number of changed jobs, and the position at which to continue; undefined at the end
 */
export async function pullLate(
  db: Kysely<Tables>,
  fence: Fence,
  place: LatePlace,
): Promise<{ count: number; next: LatePlace | undefined }> {
  const { chainId } = fence;
  const { rows } = await sql<{ address: Buffer; due_at: number; reason: string | null }>`
    select address, due_at, reason from executor_jobs
    where chain_id = ${chainId} and purpose_id is null
      and (due_at, address) > (${place.dueAt}, ${fromHex(place.address)})
    order by due_at, address limit ${statementRows.short}`.execute(db);
  const late = rows.filter(({ reason }) => !untilExpiry.has(reason));
  if (late.length > 0) {
    const addresses = late.map(({ address }) => address);
    await fenced(db, fence, (transaction) =>
      transaction
        .updateTable("executor_jobs")
        .set({ due_at: 0, not_before: 0 })
        .where("chain_id", "=", chainId)
        .where("address", "in", addresses)
        .execute(),
    );
  }
  const last = rows.length === statementRows.short ? rows.at(-1) : undefined;
  const next = last && { dueAt: Number(last.due_at), address: toHex(last.address) };
  return { count: late.length, next };
}

const readEveryMs = 60_000;

/** Does the same as {@link readWaitedSeconds}, but reads the database only once a minute. */
export async function recallWaitedSeconds({
  parts,
  memory,
  nowSeconds,
}: LatePass): Promise<number> {
  const nowMs = parts.clock();
  if (nowMs - memory.waited.atMs >= readEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.waited = { seconds, atMs: nowMs };
  }
  return memory.waited.seconds;
}

/**
 * The longest time until a retry if the executor itself caused the wait, for example because a key
 * had too many pending transactions.
 */
const wantSeconds = 3600;

/**
 * Returns how many seconds the oldest payment has waited for the executor; 0 if no payment waits.
 * The wait begins when the payment's job becomes due or, if the executor itself has postponed the
 * job (`isOwn` in reasons.ts), when the payment was detected. Jobs that wait for a budget, for the
 * rest of their amount, or after a failure do not count until they are due.
 */
export async function readWaitedSeconds(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
): Promise<number> {
  const isWanting = sql`coalesce(reason, '') in (${sql.join(reasonsWith("isOwn"))})`;
  const { rows } = await sql<{ since: number | string | null }>`
    select min(nullif(case when due_at = 0 or ${isWanting} then detected_at else due_at end, 0))
      as since
    from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at <= ${nowSeconds + wantSeconds}
      and (due_at <= ${nowSeconds} or ${isWanting})`.execute(db);
  const since = rows[0]?.since;
  return since == null ? 0 : Math.max(0, nowSeconds - Number(since));
}
