// How far the executor has looked at new records, and what it found there.

import type { Kysely } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { hintJobs, type JobHint } from "../desk/hints.ts";
import { type Fence, fenced } from "./lease.ts";

/** The `seq` of a record; zero where this chain's executor has never looked. */
export async function readLookedUntil(db: Kysely<Tables>, chainId: number): Promise<number> {
  const row = await db
    .selectFrom("executor_looks")
    .select("seq")
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/**
 * Keeps what a step found, and up to which record all were looked at, in one commit.
 * @param seq undefined: no further than before
 * @returns those of the hints that made or woke a job
 */
export function saveLook(
  db: Kysely<Tables>,
  fence: Fence,
  hints: readonly JobHint[],
  seq: number | undefined,
): Promise<JobHint[]> {
  return fenced(db, fence, async (transaction) => {
    const woken = await hintJobs(transaction, fence.chainId, hints);
    if (seq === undefined) return woken;
    await transaction
      .insertInto("executor_looks")
      .values({ chain_id: fence.chainId, seq })
      .onConflict((conflict) => conflict.column("chain_id").doUpdateSet({ seq }))
      .execute();
    return woken;
  });
}
