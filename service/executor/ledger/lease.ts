// One sender per chain, by a row. The holder renews the row with each write; another process takes
// the lease once it has seen the row unchanged for long enough by its own clock, so clocks are
// never compared. A holder that was only slow has its next write refused.

import type { Kysely, Transaction } from "kysely";
import type { Tables } from "../../store/tables.ts";

/** The right to write for a chain. Lost as soon as another process has taken a higher epoch. */
export type Fence = { chainId: number; epoch: number };

export type Lease = { holder: string; epoch: number; renewals: number };

/** Another instance has taken over this chain. */
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
 * Takes the lease if it still is as `seen`.
 * @param seen undefined: there was no row
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

/** Whether an operator lets nothing be signed on the chain. */
export async function isPaused(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const query = db.selectFrom("executor_pauses").select("chain_id").where("chain_id", "=", chainId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** For an operator; every instance sees it in its next pass. Repeating it changes nothing. */
export async function setPaused(db: Kysely<Tables>, chainId: number, isOn: boolean): Promise<void> {
  const clear = db.deleteFrom("executor_pauses").where("chain_id", "=", chainId);
  const set = db.insertInto("executor_pauses").values({ chain_id: chainId });
  await (isOn ? set.onConflict((conflict) => conflict.doNothing()).execute() : clear.execute());
}

/** @throws {LeaseLost} */
export function renewLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  return fenced(db, fence, async () => {});
}

/** Gives the lease up, so that the next holder need not wait. Repeating it changes nothing. */
export async function releaseLease(db: Kysely<Tables>, fence: Fence): Promise<void> {
  await db
    .updateTable("executor_leases")
    .set({ holder: "" })
    .where("chain_id", "=", fence.chainId)
    .where("epoch", "=", fence.epoch)
    .execute();
}

/**
 * Runs `work` in a transaction that only a living lease can begin. Raising `renewals` first locks
 * the row until the commit, so that a taker comes before or after the whole of it.
 * @throws {LeaseLost}
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
      throw new LeaseLost(`chain ${fence.chainId}: epoch ${fence.epoch} is over`);
    }
    return work(transaction);
  });
}
