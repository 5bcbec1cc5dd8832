// Saves payments found in logs or balances, and creates or wakes their addresses' jobs. The cursor
// is the last block whose payments are saved. The cursor moves in the commit that saves the last
// payments, so no payment is skipped.

import type { Kysely, Transaction } from "kysely";
import {
  type BalancesRead,
  forgetBalancesAbove,
  keepBalances,
} from "../../events/elsewhere/amounts.ts";
import { markElsewhere, markObservedAbove } from "../../events/mark.ts";
import { forgetTransfersAbove, keepMisdirected } from "../../events/misdirected.ts";
import {
  forgetPaymentsAbove,
  saveOwnPayments,
  savePaymentsElsewhere,
} from "../../events/payments.ts";
import { forgetAnchorsAbove, saveAnchor } from "../../follow/anchors.ts";
import type { Anchor, Payment } from "../../follow/payment.ts";
import type { Tables } from "../../store/tables.ts";
import { hintJobs, type JobHint, makeDue, wakeJobs } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

/**
 * The maximum number of payments per commit. Commits must be short, because requests that create
 * addresses wait for them.
 */
const paymentsPerCommitMax = 50;

/**
 * `isGap` is true if too few endpoints returned the logs. The executor then reads all balances.
 * `agreed` contains all payments that a quorum of endpoints has reported, including saved ones.
 */
export type Swept = {
  anchor: Anchor | undefined;
  payments: readonly Payment[];
  isGap: boolean;
  agreed: readonly Payment[];
};

/**
 * Saves payments in several commits, and moves the cursor in the last commit.
 *
 * @param dueSeconds the block time at which the jobs of the paid addresses become due
 */
export async function savePayments(
  db: Kysely<Tables>,
  fence: Fence,
  { anchor, payments, isGap, agreed }: Swept,
  dueSeconds: number,
): Promise<void> {
  const { chainId } = fence;
  const keep = async (transaction: Transaction<Tables>, at: number) => {
    const some = payments.slice(at, at + paymentsPerCommitMax);
    await wakeJobs(transaction, chainId, distinctOf(some), dueSeconds);
    const misdirected = await saveOwnPayments(transaction, chainId, some);
    await keepMisdirected(transaction, chainId, misdirected);
    const found = await savePaymentsElsewhere(
      transaction,
      chainId,
      agreed.slice(at, at + paymentsPerCommitMax),
    );
    if (found.length === 0) return;
    const paid = distinctOf(found);
    // Each job runs again, and saves the new balances. A job saves a zero balance only for tokens
    // with a stored payment or balance.
    await wakeJobs(transaction, chainId, paid, dueSeconds);
    const newest = Math.max(...found.map(({ blockNumber }) => blockNumber));
    await markElsewhere(
      transaction,
      chainId,
      paid.map(({ address }) => address),
      newest,
    );
  };
  let at = 0;
  for (
    ;
    Math.max(payments.length, agreed.length) - at > paymentsPerCommitMax;
    at += paymentsPerCommitMax
  ) {
    const from = at;
    await fenced(db, fence, (transaction) => keep(transaction, from));
  }
  await fenced(db, fence, async (transaction) => {
    await keep(transaction, at);
    if (isGap) {
      await transaction.deleteFrom("executor_looks").where("chain_id", "=", chainId).execute();
    }
    if (anchor) await saveAnchor(transaction, chainId, anchor);
  });
}

const distinctOf = (payments: readonly Payment[]): Payment[] => [
  ...new Map(payments.map((payment) => [payment.address, payment])).values(),
];

/**
 * Deletes the payments, the balances, and the known block hashes above block `number`. Also marks
 * each address whose saved status is from a later block, so that its status is read again. Most
 * addresses are marked before the database transaction, which therefore remains short. The database
 * transaction then marks only the addresses whose statuses were saved since.
 */
export async function forgetAbove(db: Kysely<Tables>, fence: Fence, number: number): Promise<void> {
  await markObservedAbove(db, fence.chainId, number);
  await fenced(db, fence, async (transaction) => {
    await forgetAnchorsAbove(transaction, fence.chainId, number);
    const agreed = await forgetPaymentsAbove(transaction, fence.chainId, number);
    // Events that reported these payments have to be retracted.
    if (agreed.length > 0) await markElsewhere(transaction, fence.chainId, agreed, 0);
    await forgetTransfersAbove(transaction, fence.chainId, number);
    await makeDue(
      transaction,
      fence.chainId,
      await forgetBalancesAbove(transaction, fence.chainId, number),
    );
    await markObservedAbove(transaction, fence.chainId, number);
  });
}

/** Saves balances at block `blockNumber`. The intents of these addresses are for other chains. */
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

/** Returns the `seq` of the last record whose balance was read; 0 if there is none. */
export async function readScannedUntil(db: Kysely<Tables>, chainId: number): Promise<number> {
  const row = await db
    .selectFrom("executor_looks")
    .select("seq")
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/**
 * Saves the found money and the new position of `scanNewRecords` in one commit.
 *
 * @param seq the last record's `seq`; undefined if the position does not change
 * @returns the hints that created or woke a job
 */
export function saveScan(
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
