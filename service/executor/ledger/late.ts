// Finds jobs that were postponed too far, and the payment that has waited longest (jobs/late.ts).

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";
import { obstacleWaitSecondsMax } from "./postpone.ts";
import { reasonsWith } from "./reasons.ts";

/** The due time and the address of a job. {@link pullLate} sorts jobs by these two fields. */
export type LatePlace = { dueAtSeconds: number; address: Hex };

const untilExpiry = new Set<string | null>(reasonsWith("untilExpiry"));

/**
 * Makes jobs due immediately, unless they wait for their intents to expire. Starts with the first
 * job after `place` (a due time and an address).
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
      and (due_at, address) > (${place.dueAtSeconds}, ${fromHex(place.address)})
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
  const next = last && { dueAtSeconds: Number(last.due_at), address: toHex(last.address) };
  return { count: late.length, next };
}

/**
 * Returns how many seconds the oldest payment has waited; 0 if no payment waits. Usually, the wait
 * begins when the payment's job becomes due. If the executor itself caused the delay (`isOwn` in
 * reasons.ts), the wait begins at detection. Jobs that were postponed for another reason, such as a
 * used-up budget, count only when due.
 */
export async function readWaitedSeconds(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
): Promise<number> {
  const untilSeconds = nowSeconds + obstacleWaitSecondsMax;
  const isWanting = sql`coalesce(reason, '') in (${sql.join(reasonsWith("isOwn"))})`;
  const { rows } = await sql<{ since: number | string | null }>`
    select min(nullif(case when due_at = 0 or ${isWanting} then detected_at else due_at end, 0))
      as since
    from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at <= ${untilSeconds}
      and (due_at <= ${nowSeconds} or ${isWanting})`.execute(db);
  const since = rows[0]?.since;
  return since == null ? 0 : Math.max(0, nowSeconds - Number(since));
}
