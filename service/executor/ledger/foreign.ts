// Keeps what spent a key's nonce if the ledger does not have that transaction: as a pending purpose
// if it could be read, and otherwise as a cost without one.

import type { Hex } from "executable-address";
import type { Kysely } from "kysely";
import { dayOf } from "../../flow/days.ts";
import type { Tables } from "../../store/tables.ts";
import { type JobUpdate, writeUpdates } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";
import { insertPurpose, type NewPurpose, purposeId, type SignedTransaction } from "./purposes.ts";
import { freeJobs, settleCharges } from "./settlements.ts";

/**
 * Stores a transaction that is on the chain as the pending purpose of its nonce, in place of the
 * purpose that was to spend it. Free jobs of its addresses wait for it. Repeating it changes
 * nothing.
 *
 * @param updates of the jobs of the purpose that it replaces
 */
export function adoptPurpose(
  db: Kysely<Tables>,
  fence: Fence,
  purpose: NewPurpose,
  signed: SignedTransaction,
  updates: readonly JobUpdate[],
): Promise<void> {
  const id = purposeId(fence, purpose);
  return fenced(db, fence, async (transaction) => {
    const old = await transaction
      .selectFrom("executor_purposes")
      .select("state")
      .where("id", "=", id)
      .executeTakeFirst();
    if (old && old.state !== "pending") return;
    if (old) {
      await freeJobs(transaction, id);
      await writeUpdates(transaction, fence.chainId, updates);
      await transaction
        .deleteFrom("executor_purpose_addresses")
        .where("purpose_id", "=", id)
        .execute();
      await transaction.deleteFrom("executor_transactions").where("purpose_id", "=", id).execute();
      await transaction.deleteFrom("executor_purposes").where("id", "=", id).execute();
    }
    await insertPurpose(transaction, fence, purpose, signed);
  });
}

/** `wei` are charged to the day of `chargedAtSeconds`; `updates` are of the purpose's jobs. */
type ForeignNonce = {
  sender: Hex;
  nonce: number;
  wei: bigint;
  createdAtSeconds: number;
  chargedAtSeconds: number;
  updates: readonly JobUpdate[];
};

/**
 * Charges a nonce that went to a transaction which could not be read, and all below it that the
 * ledger does not have. A purpose that was to spend it ends, and is charged. Repeating it changes
 * nothing.
 */
export function recordForeign(
  db: Kysely<Tables>,
  fence: Fence,
  { sender, nonce, wei, createdAtSeconds, chargedAtSeconds, updates }: ForeignNonce,
): Promise<void> {
  const id = purposeId(fence, { sender, nonce });
  const ended = { state: "foreign" as const, day: dayOf(chargedAtSeconds), paid: `${wei}` };
  return fenced(db, fence, async (transaction) => {
    const empty = {
      ...{ id, chain_id: fence.chainId, sender, nonce, kind: "fill" as const, gas: 0 },
      ...{ data: new Uint8Array(), created_at: createdAtSeconds },
      ...{ block_number: null, transaction_hash: null },
    };
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto("executor_purposes")
      .values({ ...empty, ...ended })
      .onConflict((conflict) =>
        conflict.column("id").doUpdateSet(ended).where("executor_purposes.state", "=", "pending"),
      )
      .executeTakeFirst();
    if (!numInsertedOrUpdatedRows) return;
    await freeJobs(transaction, id);
    await writeUpdates(transaction, fence.chainId, updates);
    const charges = { minedAtSeconds: chargedAtSeconds, paid: wei, tips: new Map() };
    await settleCharges(transaction, fence.chainId, { purposeId: id, ...charges });
  });
}
