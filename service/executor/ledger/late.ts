// Finds jobs that were postponed too far because a block had a wrong timestamp.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import { daySeconds } from "../../flow/days.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";
import { reasonsWith } from "./reasons.ts";

export type LateMemory = {
  /**
   * The current search for jobs that were postponed too far. `place` is the position at which the
   * search continues, and `found` is the number of jobs changed so far.
   */
  late: { place: LatePlace | undefined; beganMs: number; found: number };
};

export const openLateMemory = (): LateMemory => ({
  late: { place: undefined, beganMs: Number.NEGATIVE_INFINITY, found: 0 },
});

/** The parts of a pass that the search uses. */
type LatePass = {
  parts: {
    ledger: { pullLate(fence: Fence, place: LatePlace): ReturnType<typeof pullLate> };
    clock(): number;
    report(event: { kind: "late_jobs"; count: number }): void;
  };
  memory: LateMemory;
  fence: Fence;
  view: { head: { timestamp: number } };
};

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
    search.place = { dueAt: timestamp + dueSecondsMax, address: "0x" };
  }
  const { count, next } = await parts.ledger.pullLate(fence, search.place);
  search.found += count;
  search.place = next;
  if (!next) parts.report({ kind: "late_jobs", count: search.found });
}

/** The due time and the address of a job. {@link pullLate} sorts jobs by these two fields. */
export type LatePlace = { dueAt: number; address: Hex };

const untilExpiry = new Set<string | null>(reasonsWith("untilExpiry"));

/**
 * Makes jobs due immediately, unless they wait for their intents to expire. Starts after `place`,
 * which consists of a due time and an address.
 *
 * @returns the number of changed jobs, and the next position, which is undefined at the end
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
