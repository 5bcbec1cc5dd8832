// Ends purposes. All that a final receipt changes is written in one commit.

import { fromHex, type Hex } from "executable-address";
import type { ExpressionBuilder, Kysely, Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import { dayOf } from "../../flow/days.ts";
import { groupsOf, statementRows } from "../../flow/groups.ts";
import type { Tables } from "../../store/tables.ts";
import { shareOut } from "../money/budgets.ts";
import { type JobUpdate, writeUpdates } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";
import { awaitingBlock, awaitingConfirmations, shareOf } from "./purposes.ts";
import { charge, noAccount } from "./spending.ts";

/**
 * `paid` in wei; `minedAtSeconds` by its block, whose day it is charged to, however late it is
 * final. `gasOf`: what each address took, where a trace tells; else it is shared out as it was
 * estimated. `tips`: what each address paid, in wei.
 */
type Settlement = {
  purposeId: string;
  transactionHash: Hex;
  blockNumber: number;
  paid: bigint;
  minedAtSeconds: number;
  gasOf?: ReadonlyMap<Hex, number> | undefined;
  tips: ReadonlyMap<Hex, bigint>;
  outcomes: readonly VaultOutcome[];
  updates: readonly JobUpdate[];
};

/**
 * Amounts are in base units of `token`, lower case. An execution tells what was held before and
 * what was left after it.
 */
export type VaultOutcome =
  | { kind: "executed"; vault: Hex; token: Hex; amount: bigint; left: bigint }
  | { kind: "recovered"; vault: Hex; token: Hex; amount: bigint }
  | { kind: "recovery_failed"; vault: Hex; token: Hex; reason: string }
  | { kind: "failed"; vault: Hex; reason: string };

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
    await freeJobs(transaction, purposeId);
    await writeUpdates(transaction, fence.chainId, settlement.updates);
    await settleCharges(transaction, fence.chainId, settlement);
    return true;
  });
}

/**
 * The receipt is deep enough to go on: the jobs are free again, before the purpose is final. It
 * stays pending with its block, so that it is settled later, or reopened if a reorganization undoes
 * it.
 *
 * @returns false if the purpose was confirmed or final already: then nothing changes
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

/** Notes why the jobs of a purpose wait, once its transaction is in a block. */
export function noteMined(db: Kysely<Tables>, fence: Fence, purposeId: string): Promise<void> {
  return fenced(db, fence, async (transaction) => {
    await transaction
      .updateTable("executor_jobs")
      .set({ reason: awaitingConfirmations })
      .where("purpose_id", "=", purposeId)
      .where("state", "=", "sent")
      .execute();
  });
}

/**
 * A reorganization undid a confirmed or final purpose: it is pending, and charged to nobody. A cost
 * whose transaction could not be read is forgotten.
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
    const keys = addresses.map((address) => fromHex(address));
    await transaction
      .updateTable("executor_jobs")
      .set((row) => ({
        purpose_id: purposeId,
        state: unlessDropped(row, "sent"),
        reason: awaitingBlock,
      }))
      .where("chain_id", "=", fence.chainId)
      .where("address", "in", keys)
      .where("purpose_id", "is", null)
      .execute();
  });
}

export async function freeJobs(transaction: Transaction<Tables>, purposeId: string): Promise<void> {
  await transaction
    .updateTable("executor_jobs")
    .set((row) => ({ purpose_id: null, state: unlessDropped(row, "waiting") }))
    .where("purpose_id", "=", purposeId)
    .execute();
}

/** A job that an operator dropped stays dropped, whatever becomes of its transactions. */
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

async function insertOutcomes(
  transaction: Transaction<Tables>,
  { purposeId, transactionHash, blockNumber, outcomes }: Settlement,
): Promise<void> {
  const rows = outcomes.map((outcome) => ({
    purpose_id: purposeId,
    address: fromHex(outcome.vault),
    kind: outcome.kind,
    token: "token" in outcome ? outcome.token : "",
    amount: "amount" in outcome ? outcome.amount.toString() : "0",
    left: "left" in outcome ? outcome.left.toString() : "0",
    transaction_hash: transactionHash,
    block_number: blockNumber,
    reason: "reason" in outcome ? outcome.reason : null,
  }));
  for (const some of groupsOf(rows, statementRows.short)) {
    await transaction
      .insertInto("executor_outcomes")
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Keeps with each address what it cost and brought, and charges its account. */
export async function settleCharges(
  transaction: Transaction<Tables>,
  chainId: number,
  settlement: Pick<Settlement, "purposeId" | "minedAtSeconds" | "paid" | "gasOf" | "tips">,
): Promise<void> {
  const { purposeId, minedAtSeconds, paid, gasOf, tips } = settlement;
  const rows = await readShares(transaction, purposeId);
  const shares = rows.map(shareOf);
  const taken = shares.map(({ address, gas }) => ({ address, gas: gasOf?.get(address) ?? gas }));
  const costs = shareOut(paid, taken);
  const charges = shares.map((share) => ({
    ...share,
    wei: costs.get(share.address)!,
    tipsWei: tips.get(share.address) ?? 0n,
  }));
  if (rows.length > 0) {
    const charged = charges.map(({ wei, tipsWei }, index) => {
      return { ...rows[index]!, wei: wei.toString(), tips_wei: tipsWei.toString() };
    });
    await transaction
      .insertInto("executor_purpose_addresses")
      .values(charged)
      .onConflict((conflict) =>
        conflict.columns(["purpose_id", "address"]).doUpdateSet((row) => ({
          wei: row.ref("excluded.wei"),
          tips_wei: row.ref("excluded.tips_wei"),
        })),
      )
      .execute();
  }
  const own = { accountId: noAccount, isClientId: false, isTipped: false, wei: paid, tipsWei: 0n };
  await charge(
    transaction,
    chainId,
    dayOf(minedAtSeconds),
    shares.length > 0 ? charges : [own],
    1n,
  );
}

/** Takes back what {@link settleCharges} charged for a purpose. */
async function takeBack(
  transaction: Transaction<Tables>,
  chainId: number,
  purposeId: string,
): Promise<void> {
  const purpose = await transaction
    .selectFrom("executor_purposes")
    .select(["day", "paid"])
    .where("id", "=", purposeId)
    .executeTakeFirst();
  if (!purpose || purpose.day === null) return;
  const rows = await readShares(transaction, purposeId);
  const charges = rows.map((row) => ({
    ...shareOf(row),
    wei: BigInt(row.wei),
    tipsWei: BigInt(row.tips_wei),
  }));
  const wei = BigInt(purpose.paid ?? 0);
  const own = { accountId: noAccount, isClientId: false, isTipped: false, wei, tipsWei: 0n };
  await charge(transaction, chainId, purpose.day, charges.length > 0 ? charges : [own], -1n);
}

const readShares = (transaction: Transaction<Tables>, purposeId: string) =>
  transaction
    .selectFrom("executor_purpose_addresses")
    .selectAll()
    .where("purpose_id", "=", purposeId)
    .orderBy("address")
    .execute();
