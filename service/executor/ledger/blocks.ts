// How far the sweeps have come. Each sweep's end is kept with its hash, so that after a reorg the
// sweeps go on from the last end that still stands.

import type { Hex } from "executable-address";
import type { Kysely } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { type Sighting, wakeJobs } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

export type SweptBlock = { number: number; hash: Hex };

/** Ends kept per chain. */
const endsKept = 256;
/** Of one commit, for which creates wait: some 20 ms. */
const sightingsMax = 100;

/** The newest end of a sweep, or the newest below `before`. */
export async function findSweptBlock(
  db: Kysely<Tables>,
  chainId: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<SweptBlock | undefined> {
  const row = await db
    .selectFrom("executor_blocks")
    .select(["number", "hash"])
    .where("chain_id", "=", chainId)
    .where("number", "<", before)
    .orderBy("number", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && { number: row.number, hash: row.hash as Hex };
}

/**
 * Keeps what was found in several commits, and moves the cursor in the last of them, so that the
 * cursor never passes sightings that were not kept.
 * @param end undefined: only what was found
 */
export async function saveSweep(
  db: Kysely<Tables>,
  fence: Fence,
  end: SweptBlock | undefined,
  sightings: readonly Sighting[],
  nowSeconds: number,
): Promise<void> {
  let at = 0;
  for (; sightings.length - at > sightingsMax; at += sightingsMax) {
    const some = sightings.slice(at, at + sightingsMax);
    await fenced(db, fence, (transaction) =>
      wakeJobs(transaction, fence.chainId, some, nowSeconds),
    );
  }
  await fenced(db, fence, async (transaction) => {
    await wakeJobs(transaction, fence.chainId, sightings.slice(at), nowSeconds);
    if (!end) return;
    await transaction
      .insertInto("executor_blocks")
      .values({ chain_id: fence.chainId, ...end })
      .onConflict((conflict) =>
        conflict.columns(["chain_id", "number"]).doUpdateSet({ hash: end.hash }),
      )
      .execute();
    const kept = await transaction
      .selectFrom("executor_blocks")
      .select("number")
      .where("chain_id", "=", fence.chainId)
      .orderBy("number", "desc")
      .offset(endsKept)
      .limit(1)
      .executeTakeFirst();
    if (!kept) return;
    await transaction
      .deleteFrom("executor_blocks")
      .where("chain_id", "=", fence.chainId)
      .where("number", "<=", kept.number)
      .execute();
  });
}

/** Ends at or above `number` no longer stand. */
export function forgetSweeps(db: Kysely<Tables>, fence: Fence, number: number): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await transaction
      .deleteFrom("executor_blocks")
      .where("chain_id", "=", fence.chainId)
      .where("number", ">=", number)
      .execute();
  });
}
