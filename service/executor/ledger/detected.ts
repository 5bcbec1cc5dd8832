// Saves the payments that the chain's loop finds, and the money that reads of new records' balances
// find. The commit that moves the cursor also wakes the jobs, so the cursor never passes a payment
// that is not saved.

import type { Kysely, Transaction } from "kysely";
import { type BalancesRead, forgetBalancesAbove, keepBalances } from "../../events/elsewhere.ts";
import { markObservedAbove } from "../../events/mark.ts";
import { forgetTransfersAbove, keepMisdirected } from "../../events/misdirected.ts";
import { forgetPaymentsAbove, keepPayments } from "../../events/payments.ts";
import { forgetAnchorsAbove, keepAnchor } from "../../follow/anchors.ts";
import type { Anchor, Payment } from "../../follow/parts.ts";
import type { Tables } from "../../store/tables.ts";
import { hintJobs, type JobHint, makeDue, wakeJobs } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

/**
 * The maximum number of payments per commit. Requests that create addresses wait for a commit, so a
 * commit must be short.
 */
const paymentsMax = 50;

/**
 * `isGap`: whether too few endpoints show the logs up to the anchor, so that the balances of all
 * records must be read.
 */
export type Swept = { anchor: Anchor | undefined; payments: readonly Payment[]; isGap: boolean };

/**
 * Saves payments in several commits, and moves the cursor in the last commit.
 *
 * @param dueSeconds the time at which the jobs are due, by the chain's clock
 */
export async function savePayments(
  db: Kysely<Tables>,
  fence: Fence,
  { anchor, payments, isGap }: Swept,
  dueSeconds: number,
): Promise<void> {
  const { chainId } = fence;
  const keep = async (transaction: Transaction<Tables>, some: readonly Payment[]) => {
    const touched = new Map(some.map((payment) => [payment.address, payment]));
    await wakeJobs(transaction, chainId, [...touched.values()], dueSeconds);
    const misdirected = await keepPayments(transaction, chainId, some);
    await keepMisdirected(transaction, chainId, misdirected);
  };
  let at = 0;
  for (; payments.length - at > paymentsMax; at += paymentsMax) {
    const some = payments.slice(at, at + paymentsMax);
    await fenced(db, fence, (transaction) => keep(transaction, some));
  }
  await fenced(db, fence, async (transaction) => {
    await keep(transaction, payments.slice(at));
    if (isGap) {
      await transaction.deleteFrom("executor_looks").where("chain_id", "=", chainId).execute();
    }
    if (anchor) await keepAnchor(transaction, chainId, anchor);
  });
}

/**
 * Deletes the anchors and payments above block `number`. Also marks addresses that were observed
 * above this block, so that they are observed again. The last commit repeats this for observations
 * that were saved in the meantime.
 */
export async function forgetAbove(db: Kysely<Tables>, fence: Fence, number: number): Promise<void> {
  await markObservedAbove(db, fence.chainId, number);
  await fenced(db, fence, async (transaction) => {
    await forgetAnchorsAbove(transaction, fence.chainId, number);
    await forgetPaymentsAbove(transaction, fence.chainId, number);
    await forgetTransfersAbove(transaction, fence.chainId, number);
    await makeDue(
      transaction,
      fence.chainId,
      await forgetBalancesAbove(transaction, fence.chainId, number),
    );
    await markObservedAbove(transaction, fence.chainId, number);
  });
}

/** Saves balances, read at `blockNumber`, of addresses whose intents are for other chains. */
export function saveBalances(
  db: Kysely<Tables>,
  fence: Fence,
  blockNumber: number,
  read: readonly BalancesRead[],
): Promise<void> {
  return fenced(db, fence, (transaction) =>
    keepBalances(transaction, fence.chainId, blockNumber, read),
  );
}

/** Returns the `seq` of the last new record whose balance was read; 0 if there is none. */
export async function readLookedUntil(db: Kysely<Tables>, chainId: number): Promise<number> {
  const row = await db
    .selectFrom("executor_looks")
    .select("seq")
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/**
 * Saves, in one commit, the hints from one step of reading new records and the position that the
 * step reached.
 *
 * @param seq the `seq` of the last record that was read; undefined if the position does not change
 * @returns the hints that created or woke a job
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
