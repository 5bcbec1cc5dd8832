// Stores the lease of each chain. A lease is a row that allows only one process to send. Whenever
// the holder writes, it also changes this row. Another process takes the lease if the row has not
// changed for long enough. That process measures the time with its own clock, so the clocks of two
// processes are never compared. If the previous holder was only slow, its next write is refused.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/**
 * The permission to write for a chain. The permission ends when another process takes the lease
 * with a higher epoch.
 */
export type Fence = { chainId: number; epoch: number };

export type Lease = { holder: string; epoch: number; renewals: number };

/** Thrown if another instance has taken the lease of the chain. */
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

/**
 * The time after which a lease that was not renewed counts as ended. An executor renews its lease
 * at each poll, at least every ten seconds, and with each of its writes.
 */
const silentMs = 60_000;

/**
 * Returns a function that checks whether an executor renews a chain's lease. The lease of an
 * executor that was killed still names this executor as its holder. So the function compares the
 * lease with its previous value. The function returns false if nobody holds the lease, or if the
 * lease has not changed for a minute.
 *
 * @param nowMs milliseconds of a monotonic clock
 */
export function leaseWatcher(
  db: Kysely<Tables>,
  nowMs: () => number,
): (chainId: number) => Promise<boolean> {
  const seen = new Map<number, Pick<Lease, "epoch" | "renewals"> & { sinceMs: number }>();
  return async (chainId) => {
    const lease = await findLease(db, chainId);
    if (!lease?.holder) return false;
    const { epoch, renewals } = lease;
    const known = seen.get(chainId);
    if (known && known.epoch === epoch && known.renewals === renewals) {
      return nowMs() - known.sinceMs < silentMs;
    }
    seen.set(chainId, { epoch, renewals, sinceMs: nowMs() });
    return true;
  };
}

/** Lists the leases of all chains on which an executor of this database has run. */
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

/** Returns whether an operator has paused signing on the chain. */
export async function isPaused(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const query = db.selectFrom("executor_pauses").select("chain_id").where("chain_id", "=", chainId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Pauses or resumes the chain for an operator, with effect from the next pass. Idempotent. */
export async function setPaused(db: Kysely<Tables>, chainId: number, isOn: boolean): Promise<void> {
  const clear = db.deleteFrom("executor_pauses").where("chain_id", "=", chainId);
  const set = db.insertInto("executor_pauses").values({ chain_id: chainId });
  await (isOn ? set.onConflict((conflict) => conflict.doNothing()).execute() : clear.execute());
}

/** @throws {LeaseLost} */
export function renewLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  return fenced(db, fence, async () => {});
}

/** Releases the lease, so that the next holder does not have to wait. The call is idempotent. */
export async function releaseLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  await db
    .updateTable("executor_leases")
    .set({ holder: "" })
    .where("chain_id", "=", fence.chainId)
    .where("epoch", "=", fence.epoch)
    .execute();
}

/**
 * Runs `work` in a transaction that only the holder of the lease can begin. The transaction
 * increments `renewals`, which locks the row until the commit. So another process can take the
 * lease only before or after the transaction.
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
      throw new LeaseLost(
        `chain ${fence.chainId}: another instance has taken the lease of epoch ${fence.epoch}`,
      );
    }
    return work(transaction);
  });
}
