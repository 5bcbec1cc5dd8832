// Stores who may send transactions on a chain: the process that has the chain's lease, unless an
// operator has paused signing on the chain. A lease is a row that its holder changes with each
// write. Another process takes the lease if the row has not changed for some time. The other
// process measures this time with its own clock, so clocks are never compared. If the previous
// holder was only slow, its next write fails.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { renewalMsMax } from "../settings.ts";

/**
 * The permission to write the executor's data for a chain. The permission ends when another process
 * takes the lease, because a takeover increases `epoch`.
 */
export type Fence = { chainId: number; epoch: number };

export type Lease = { holder: string; epoch: number; renewals: number };

/** Thrown if another process has taken the chain's lease. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
}

export async function findLease(db: Kysely<Tables>, chainId: number): Promise<Lease | undefined> {
  return db
    .selectFrom("executor_leases")
    .select(["holder", "epoch", "renewals"])
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
}

/** Returns whether a chain's lease has not changed for `ms` milliseconds. */
export type LeaseWatch = (lease: Lease, ms: number) => boolean;

/**
 * Returns a function that checks whether a chain's lease is no longer renewed. A killed executor is
 * still saved as the holder. Only renewals show that the holder is running.
 *
 * @param nowMs milliseconds of a monotonic clock
 */
export function openLeaseWatch(nowMs: () => number): LeaseWatch {
  let seen: { lease: Lease; sinceMs: number } | undefined;
  return (lease, ms) => {
    const isSame = seen?.lease.epoch === lease.epoch && seen.lease.renewals === lease.renewals;
    if (!seen || !isSame) seen = { lease, sinceMs: nowMs() };
    return nowMs() - seen.sinceMs >= ms;
  };
}

/**
 * If a lease is unchanged for this time, the API assumes that its holder no longer runs. Another
 * executor can take the lease much earlier, after `leaseMs` (15 s by default). Therefore, the API
 * does not report an outage during a takeover.
 */
const endedMs = 6 * renewalMsMax;

/**
 * Returns a function that checks whether an executor is running on a chain. The function returns
 * false if the lease has no holder or is unchanged for {@link endedMs}.
 *
 * @param nowMs milliseconds of a monotonic clock
 */
export function openRunningCheck(
  db: Kysely<Tables>,
  nowMs: () => number,
): (chainId: number) => Promise<boolean> {
  const watches = new Map<number, LeaseWatch>();
  return async (chainId) => {
    const lease = await findLease(db, chainId);
    if (!lease?.holder) return false;
    const isUnchanged = watches.get(chainId) ?? openLeaseWatch(nowMs);
    watches.set(chainId, isUnchanged);
    return !isUnchanged(lease, endedMs);
  };
}

/** Lists the leases of all chains on which an executor has run. */
export function listLeases(db: Kysely<Tables>) {
  return db.selectFrom("executor_leases").selectAll().orderBy("chain_id").execute();
}

/**
 * Takes the lease if its row has not changed since `seen` was read.
 *
 * @param seen undefined if there was no row
 * @returns undefined if the row has changed
 */
export async function takeLease(
  db: Kysely<Tables>,
  chainId: number,
  holder: string,
  seen: Lease | undefined,
): Promise<Fence | undefined> {
  if (!seen) {
    const inserted = await db
      .insertInto("executor_leases")
      .values({ chain_id: chainId, holder, epoch: 1, renewals: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return inserted.numInsertedOrUpdatedRows ? { chainId, epoch: 1 } : undefined;
  }
  const epoch = seen.epoch + 1;
  const updated = await db
    .updateTable("executor_leases")
    .set({ holder, epoch, renewals: seen.renewals + 1 })
    .where("chain_id", "=", chainId)
    .where("epoch", "=", seen.epoch)
    .where("renewals", "=", seen.renewals)
    .executeTakeFirst();
  return updated.numUpdatedRows ? { chainId, epoch } : undefined;
}

/** @throws {LeaseLost} */
export function renewLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  return fenced(db, fence, async () => {});
}

/** Releases the lease, so that the next holder does not have to wait. Idempotent. */
export async function releaseLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  await db
    .updateTable("executor_leases")
    .set({ holder: "" })
    .where("chain_id", "=", fence.chainId)
    .where("epoch", "=", fence.epoch)
    .execute();
}

/**
 * Runs `work` in a transaction that only the holder of the lease can start. First locks the lease's
 * row by incrementing `renewals`. No other process can take the lease before the commit.
 *
 * @throws {LeaseLost} if another process has taken the lease
 */
export function fenced<Result>(
  db: Kysely<Tables>,
  fence: Fence,
  work: (transaction: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (transaction) => {
    const renewed = await transaction
      .updateTable("executor_leases")
      .set((row) => ({ renewals: row("renewals", "+", 1) }))
      .where("chain_id", "=", fence.chainId)
      .where("epoch", "=", fence.epoch)
      .executeTakeFirst();
    if (!renewed.numUpdatedRows) {
      const lease = await findLease(transaction, fence.chainId);
      const found = lease ? `epoch ${lease.epoch} of "${lease.holder}"` : "no lease";
      throw new LeaseLost(
        `chain ${fence.chainId}: expected the lease of epoch ${fence.epoch}, found ${found}`,
      );
    }
    return work(transaction);
  });
}

/** Returns whether an operator has paused signing on the chain. */
export async function isPaused(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const query = db.selectFrom("executor_pauses").select("chain_id").where("chain_id", "=", chainId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Pauses or resumes signing on the chain. Idempotent. */
export async function setPaused(db: Kysely<Tables>, chainId: number, isOn: boolean): Promise<void> {
  const clear = db.deleteFrom("executor_pauses").where("chain_id", "=", chainId);
  const set = db.insertInto("executor_pauses").values({ chain_id: chainId });
  await (isOn ? set.onConflict((conflict) => conflict.doNothing()).execute() : clear.execute());
}
