// Jobs that are due later than anything but an expiry can make them, since the head's clock was
// wrong, and jobs that wait for the executor itself.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import { statementRows } from "../../flow/groups.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";

export type LatePlace = { dueAt: number; address: Hex };

/** These wait for the expiry of their terms, whatever the clock says. */
const untilExpiry = ["underfunded", "execution_keeps_failing"];

/**
 * Makes those jobs due now that follow `place` and do not wait for their expiry.
 * @returns how many, and where to go on: undefined at the end
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
  const late = rows.filter(({ reason }) => !untilExpiry.includes(reason ?? ""));
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

/** Reasons that are the executor's own wants: a job with one is tried again all the time. */
const ownWants = [
  "no_free_slot",
  "signer_unavailable",
  "endpoints_disagree_on_nonce",
  "earlier_nonces_unknown",
  "not_simulated_yet",
  "simulation_unavailable",
];
/** They are put off by an hour at most. */
const wantSeconds = 3600;

/**
 * How long the oldest payment waits for the executor itself, by the chain's clock: since it was
 * due, or since it was seen where the executor's own wants put it off. 0 where none does. What
 * waits for a budget, for its amount or after a failure of its own is not due.
 */
export async function readWaitedSeconds(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
): Promise<number> {
  const isWanting = sql`coalesce(reason, '') in (${sql.join(ownWants)})`;
  const { rows } = await sql<{ since: number | string | null }>`
    select min(nullif(case when due_at = 0 or ${isWanting} then detected_at else due_at end, 0))
      as since
    from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at <= ${nowSeconds + wantSeconds}
      and (due_at <= ${nowSeconds} or ${isWanting})`.execute(db);
  const since = rows[0]?.since;
  return since == null ? 0 : Math.max(0, nowSeconds - Number(since));
}
