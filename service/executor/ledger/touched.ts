// Keeps in the executor's tables what the loop of a chain found: jobs are woken in the same commit
// that moves the cursor, so that it never passes a payment that was not kept.

import type { Kysely } from "kysely";
import { markObservedAbove } from "../../events/mark.ts";
import { forgetAnchorsAbove, keepAnchor } from "../../follow/anchors.ts";
import type { Anchor, Touched } from "../../follow/parts.ts";
import type { Tables } from "../../store/tables.ts";
import { wakeJobs } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

/** Jobs of one commit. Creates wait for a commit, so it takes at most about 20 ms. */
const touchedMax = 100;

/** `isGap`: the anchor's block was shown by nobody, so every record is to be looked at again. */
export type Found = { anchor: Anchor | undefined; touched: readonly Touched[]; isGap: boolean };

/**
 * Keeps what was found in several commits, and moves the cursor in the last of them.
 * @param dueSeconds by the chain's clock
 */
export async function saveTouched(
  db: Kysely<Tables>,
  fence: Fence,
  { anchor, touched, isGap }: Found,
  dueSeconds: number,
): Promise<void> {
  const { chainId } = fence;
  let at = 0;
  for (; touched.length - at > touchedMax; at += touchedMax) {
    const some = touched.slice(at, at + touchedMax);
    await fenced(db, fence, (transaction) => wakeJobs(transaction, chainId, some, dueSeconds));
  }
  await fenced(db, fence, async (transaction) => {
    await wakeJobs(transaction, chainId, touched.slice(at), dueSeconds);
    if (isGap) {
      await transaction.deleteFrom("executor_looks").where("chain_id", "=", chainId).execute();
    }
    if (anchor) await keepAnchor(transaction, chainId, anchor);
  });
}

/**
 * Anchors above `number` no longer stand, and what was observed above it is to be observed again.
 * The few observations kept meanwhile, which lock an anchor, are marked in the last commit.
 */
export async function forgetAbove(db: Kysely<Tables>, fence: Fence, number: number): Promise<void> {
  await markObservedAbove(db, fence.chainId, number);
  await fenced(db, fence, async (transaction) => {
    await forgetAnchorsAbove(transaction, fence.chainId, number);
    await markObservedAbove(transaction, fence.chainId, number);
  });
}
