// Saves the results of transactions. After a purpose's transaction is mined, the purpose is first
// confirmed and then settled. If an unknown transaction used the nonce, the purpose is `foreign`
// instead (ARCHITECTURE.md, "States the executor keeps"). One commit saves all changes of a step.

import { fromHex, type Hex } from "executable-address";
import type { ExpressionBuilder, Kysely, Transaction } from "kysely";
import { markElsewhere, markWatches } from "../../events/mark.ts";
import { dayOf } from "../../flow/days.ts";
import { groupsOf } from "../../flow/groups.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { type JobUpdate, writeUpdates } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";
import { insertPurpose, type NewPurpose, purposeId, type SignedTransaction } from "./purposes.ts";
import type { Reason } from "./reasons.ts";
import { type Cost, settleCharges, takeBack } from "./spending.ts";

/** The data to save when a receipt is final. `updates` are changes to the jobs. */
type Settlement = Cost & {
  transactionHash: Hex;
  blockNumber: number;
  outcomes: readonly VaultOutcome[];
  updates: readonly JobUpdate[];
};

/**
 * The outcome of a transaction at one address. Addresses are lowercase, and amounts are in base
 * units of `token`. For an execution, `amount` and `left` are the balances before and after the
 * calls.
 */
export type VaultOutcome =
  | { kind: "executed"; vault: Hex; token: Hex; amount: bigint; left: bigint }
  | { kind: "recovered"; vault: Hex; token: Hex; amount: bigint }
  | { kind: "recovery_failed"; vault: Hex; token: Hex; reason: string }
  | { kind: "failed"; vault: Hex; reason: string };

/**
 * Settles a purpose: saves the final outcomes of its transaction, updates its jobs, and charges its
 * costs.
 *
 * @returns false, without a change, if the transaction was already final
 */
export function settlePurpose(
  db: Kysely<Tables>,
  fence: Fence,
  settlement: Settlement,
): Promise<boolean> {
  const { purposeId, transactionHash, blockNumber } = settlement;
  return fenced(db, fence, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("executor_purposes")
      .set({
        state: "settled",
        transaction_hash: transactionHash,
        block_number: blockNumber,
        day: dayOf(settlement.minedAtSeconds),
        paid: settlement.paid.toString(),
      })
      .where("id", "=", purposeId)
      .where("state", "=", "pending")
      .executeTakeFirst();
    if (!numUpdatedRows) return false;
    await insertOutcomes(transaction, settlement);
    const addresses = settlement.outcomes.map(({ vault }) => vault);
    await markWatches(transaction, fence.chainId, addresses, blockNumber);
    const recovered = settlement.outcomes.filter(({ kind }) => kind === "recovered");
    const returned = [...new Set(recovered.map(({ vault }) => vault))];
    await markElsewhere(transaction, fence.chainId, returned, blockNumber);
    await freeJobs(transaction, purposeId);
    await writeUpdates(transaction, fence.chainId, settlement.updates);
    await settleCharges(transaction, fence.chainId, settlement);
    return true;
  });
}

/**
 * Records that a transaction has enough confirmations. Other transactions can then handle the same
 * jobs. The row gets a block number, but stays `pending` until the transaction is final.
 *
 * @returns false, without a change, if the transaction was already confirmed or final
 */
export function confirmPurpose(
  db: Kysely<Tables>,
  fence: Fence,
  confirmed: Pick<Settlement, "purposeId" | "transactionHash" | "blockNumber" | "updates">,
): Promise<boolean> {
  const { purposeId, transactionHash, blockNumber, updates } = confirmed;
  return fenced(db, fence, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("executor_purposes")
      .set({ transaction_hash: transactionHash, block_number: blockNumber })
      .where("id", "=", purposeId)
      .where("state", "=", "pending")
      .where("block_number", "is", null)
      .executeTakeFirst();
    if (!numUpdatedRows) return false;
    const addresses = updates.map(({ address }) => address);
    await markWatches(transaction, fence.chainId, addresses, blockNumber);
    await freeJobs(transaction, purposeId);
    await writeUpdates(transaction, fence.chainId, updates);
    return true;
  });
}

/** Saves the reason `awaiting_confirmations` for the jobs of a mined transaction. */
export function noteMined(db: Kysely<Tables>, fence: Fence, purposeId: string): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await transaction
      .updateTable("executor_jobs")
      .set({ reason: "awaiting_confirmations" satisfies Reason })
      .where("purpose_id", "=", purposeId)
      .where("state", "=", "sent")
      .execute();
  });
}

/**
 * After a reorganization, sets a mined purpose back to `pending`, and reverts its charges. If the
 * purpose has no stored transaction, deletes the purpose.
 */
export function reopenPurpose(
  db: Kysely<Tables>,
  fence: Fence,
  purposeId: string,
  addresses: readonly Hex[],
): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await takeBack(transaction, fence.chainId, purposeId);
    const known = await transaction
      .selectFrom("executor_transactions")
      .select("hash")
      .where("purpose_id", "=", purposeId)
      .executeTakeFirst();
    if (!known) {
      await transaction.deleteFrom("executor_purposes").where("id", "=", purposeId).execute();
      return;
    }
    await transaction
      .updateTable("executor_purposes")
      .set({ state: "pending", transaction_hash: null, block_number: null, day: null, paid: null })
      .where("id", "=", purposeId)
      .execute();
    await transaction.deleteFrom("executor_outcomes").where("purpose_id", "=", purposeId).execute();
    if (addresses.length === 0) return;
    // Events that reported these returns have to be retracted.
    await markElsewhere(transaction, fence.chainId, addresses, 0);
    const keys = addresses.map((address) => fromHex(address));
    await transaction
      .updateTable("executor_jobs")
      .set((row) => ({
        purpose_id: purposeId,
        state: unlessDropped(row, "sent"),
        reason: "awaiting_block" satisfies Reason,
      }))
      .where("chain_id", "=", fence.chainId)
      .where("address", "in", keys)
      .where("purpose_id", "is", null)
      .execute();
  });
}

async function freeJobs(transaction: Transaction<Tables>, purposeId: string): Promise<void> {
  await transaction
    .updateTable("executor_jobs")
    .set((row) => ({ purpose_id: null, state: unlessDropped(row, "waiting") }))
    .where("purpose_id", "=", purposeId)
    .execute();
}

/** A dropped job stays dropped, regardless of its transactions. */
const unlessDropped = <State extends "sent" | "waiting">(
  row: ExpressionBuilder<Tables, "executor_jobs">,
  state: State,
) =>
  row
    .case()
    .when("state", "=", "dropped")
    .then("dropped" as const)
    .else(state)
    .end();

/** Returns the columns that differ between the kinds of outcomes. */
function toColumns(outcome: VaultOutcome) {
  const none = { token: "", amount: "0", left: "0", reason: null };
  switch (outcome.kind) {
    case "executed": {
      const { token, amount, left } = outcome;
      return { ...none, token, amount: amount.toString(), left: left.toString() };
    }
    case "recovered":
      return { ...none, token: outcome.token, amount: outcome.amount.toString() };
    case "recovery_failed":
      return { ...none, token: outcome.token, reason: outcome.reason };
    case "failed":
      return { ...none, reason: outcome.reason };
  }
}

async function insertOutcomes(
  transaction: Transaction<Tables>,
  { purposeId, transactionHash, blockNumber, outcomes }: Settlement,
): Promise<void> {
  const rows = outcomes.map((outcome) => ({
    purpose_id: purposeId,
    address: fromHex(outcome.vault),
    kind: outcome.kind,
    ...toColumns(outcome),
    transaction_hash: transactionHash,
    block_number: blockNumber,
  }));
  for (const some of groupsOf(rows, statementRows.short)) {
    await transaction
      .insertInto("executor_outcomes")
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/**
 * Lists the executor's transfers from the addresses to `recovery`, sorted by block. Transfers on
 * the chain `chainId` are omitted.
 */
export function findRecoveredElsewhere(
  db: Kysely<Tables>,
  chainId: number,
  addresses: Uint8Array[],
) {
  return db
    .selectFrom("executor_outcomes as outcome")
    .innerJoin("executor_purposes as purpose", "purpose.id", "outcome.purpose_id")
    .select(["outcome.address", "outcome.token", "outcome.amount"])
    .select(["outcome.transaction_hash", "outcome.block_number", "purpose.chain_id"])
    .where("outcome.kind", "=", "recovered")
    .where("outcome.address", "in", addresses)
    .where("purpose.chain_id", "<>", chainId)
    .orderBy("outcome.block_number")
    .execute();
}

export async function countOutcomes(db: Kysely<Tables>, chainId: number) {
  const rows = await db
    .selectFrom("executor_outcomes as outcome")
    .innerJoin("executor_purposes as purpose", "purpose.id", "outcome.purpose_id")
    .select((select) => ["outcome.kind", select.fn.countAll().as("count")])
    .where("purpose.chain_id", "=", chainId)
    .groupBy("outcome.kind")
    .execute();
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]));
}

/**
 * Saves a mined transaction that is missing in the database. Sets its state to `pending`. If
 * another purpose with the same nonce is pending, replaces that purpose. The jobs of the new
 * transaction's addresses wait for that transaction. Jobs that already have another transaction do
 * not change. Idempotent.
 *
 * @param updates the changes to the jobs of the replaced purpose
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

/**
 * `wei` is charged to the day that contains `chargedAtSeconds`. `updates` changes the jobs of the
 * pending purpose with this nonce, if there is one.
 */
type ForeignNonce = {
  sender: Hex;
  nonce: number;
  wei: bigint;
  createdAtSeconds: number;
  chargedAtSeconds: number;
  updates: readonly JobUpdate[];
};

/**
 * Marks a nonce as `foreign`, because an unsaved transaction used the nonce. Charges `wei` for this
 * nonce and for all lower nonces that are missing in the database. If a pending purpose has this
 * nonce, marks that purpose as `foreign`. Idempotent.
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
