// How purposes end. Everything a final receipt changes is one commit.

import { fromHex, type Hex } from "executable-address";
import type { Kysely, Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import type { Tables } from "../../store/tables.ts";
import type { Outcome } from "../transactions/receipt.ts";
import { type JobUpdate, writeUpdates } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

/** `paid` in wei; `at` in seconds of the chain's clock. */
export type Settlement = {
  purposeId: string;
  transactionHash: Hex;
  blockNumber: number;
  paid: bigint;
  at: number;
  outcomes: readonly Outcome[];
  updates: readonly JobUpdate[];
};

/** @returns false where the purpose was final already: then nothing changes */
export function settlePurpose(
  db: Kysely<Tables>,
  fence: Fence,
  settlement: Settlement,
): Promise<boolean> {
  const { purposeId, transactionHash, blockNumber } = settlement;
  return fenced(db, fence, async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("executor_purposes")
      .set({ state: "settled", transaction_hash: transactionHash, block_number: blockNumber })
      .where("id", "=", purposeId)
      .where("state", "=", "pending")
      .executeTakeFirst();
    if (!numUpdatedRows) return false;
    await insertOutcomes(transaction, settlement);
    const addresses = settlement.outcomes.map(({ vault }) => vault);
    await markWatches(transaction, fence.chainId, addresses, blockNumber);
    await freeJobs(transaction, purposeId);
    await writeUpdates(transaction, fence.chainId, settlement.updates);
    await addSpending(transaction, fence.chainId, dayOf(settlement.at), settlement.paid);
    return true;
  });
}

/** The nonce went to a transaction that is not ours, so the jobs are looked at again. */
export function loseNonce(
  db: Kysely<Tables>,
  fence: Fence,
  purposeId: string,
  updates: readonly JobUpdate[],
): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await transaction
      .updateTable("executor_purposes")
      .set({ state: "foreign" })
      .where("id", "=", purposeId)
      .where("state", "=", "pending")
      .execute();
    await freeJobs(transaction, purposeId);
    await writeUpdates(transaction, fence.chainId, updates);
  });
}

/** A reorg undid what was final: the purpose is open again, and so is the nonce. */
export function reopenPurpose(
  db: Kysely<Tables>,
  fence: Fence,
  purposeId: string,
  addresses: readonly Hex[],
): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await transaction
      .updateTable("executor_purposes")
      .set({ state: "pending", transaction_hash: null, block_number: null })
      .where("id", "=", purposeId)
      .execute();
    await transaction.deleteFrom("executor_outcomes").where("purpose_id", "=", purposeId).execute();
    for (const address of addresses) {
      await transaction
        .updateTable("executor_jobs")
        .set({ purpose_id: purposeId, state: "sent" })
        .where("chain_id", "=", fence.chainId)
        .where("address", "=", fromHex(address))
        .where("purpose_id", "is", null)
        .execute();
    }
  });
}

/** Wei paid for gas on a day, counted from the epoch by the chain's clock. */
export async function findSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<bigint> {
  const row = await db
    .selectFrom("executor_spending")
    .select("wei")
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .executeTakeFirst();
  return BigInt(row?.wei ?? 0);
}

export function dayOf(seconds: number): number {
  return Math.floor(seconds / 86_400);
}

async function freeJobs(transaction: Transaction<Tables>, purposeId: string): Promise<void> {
  await transaction
    .updateTable("executor_jobs")
    .set({ purpose_id: null, state: "waiting" })
    .where("purpose_id", "=", purposeId)
    .execute();
}

async function insertOutcomes(
  transaction: Transaction<Tables>,
  { purposeId, transactionHash, blockNumber, outcomes }: Settlement,
): Promise<void> {
  for (const outcome of outcomes) {
    await transaction
      .insertInto("executor_outcomes")
      .values({
        purpose_id: purposeId,
        address: fromHex(outcome.vault),
        kind: outcome.kind,
        token: "token" in outcome ? outcome.token : "",
        amount: "amount" in outcome ? outcome.amount.toString() : "0",
        left: "left" in outcome ? outcome.left.toString() : "0",
        transaction_hash: transactionHash,
        block_number: blockNumber,
        reason: "reason" in outcome ? outcome.reason : null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

async function addSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  paid: bigint,
): Promise<void> {
  const before = await findSpending(transaction, chainId, day);
  const wei = (before + paid).toString();
  await transaction
    .insertInto("executor_spending")
    .values({ chain_id: chainId, day, wei })
    .onConflict((conflict) => conflict.columns(["chain_id", "day"]).doUpdateSet({ wei }))
    .execute();
}
