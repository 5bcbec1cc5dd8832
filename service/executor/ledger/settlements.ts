// Ends purposes. All that a final receipt changes is written in one commit.

import { fromHex, type Hex } from "executable-address";
import type { Kysely, Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import type { Tables } from "../../store/tables.ts";
import { type AccountSpending, noSpending, shareOut } from "../jobs/budgets.ts";
import type { Outcome } from "../transactions/receipt.ts";
import { type JobUpdate, writeUpdates } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";
import { dayOf, shareOf } from "./purposes.ts";

/** `paid` in wei; `at` in seconds of the chain's clock. */
type Settlement = {
  purposeId: string;
  transactionHash: Hex;
  blockNumber: number;
  paid: bigint;
  atSeconds: number;
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
    await addSpending(transaction, fence.chainId, settlement);
    return true;
  });
}

/** The nonce went to a transaction that is not ours, so the jobs are free again. */
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

/** A reorganisation undid a final purpose: it is pending again. */
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
export async function readSpending(
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

/** By account, on a day. Wei. */
export async function readAccountSpending(
  db: Kysely<Tables>,
  chainId: number,
  day: number,
): Promise<Map<string, AccountSpending>> {
  const rows = await db
    .selectFrom("executor_account_spending")
    .selectAll()
    .where("chain_id", "=", chainId)
    .where("day", "=", day)
    .execute();
  return new Map(
    rows.map((row) => [
      row.account_id,
      {
        total: BigInt(row.wei),
        client: BigInt(row.client_wei),
        tips: BigInt(row.tip_loss_wei),
      },
    ]),
  );
}

async function freeJobs(transaction: Transaction<Tables>, purposeId: string): Promise<void> {
  await transaction
    .updateTable("executor_jobs")
    .set((row) => ({
      purpose_id: null,
      state: row
        .case()
        .when("state", "=", "dropped")
        .then("dropped" as const)
        .else("waiting" as const)
        .end(),
    }))
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

/**
 * Charges the chain's day, and each account for its part, by the gas of its addresses. A tipped
 * execution is charged to nobody, unless it failed and so paid no tip.
 */
async function addSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  { purposeId, atSeconds, paid, outcomes }: Settlement,
): Promise<void> {
  const day = dayOf(atSeconds);
  const rows = await transaction
    .selectFrom("executor_purpose_addresses")
    .selectAll()
    .where("purpose_id", "=", purposeId)
    .orderBy("address")
    .execute();
  const shares = rows.map(shareOf);
  const costs = shareOut(paid, shares);
  const accounts = await readAccountSpending(transaction, chainId, day);
  let total = shares.length === 0 ? paid : 0n;
  for (const share of shares) {
    const cost = costs.get(share.address)!;
    const spent = accounts.get(share.accountId) ?? { ...noSpending };
    accounts.set(share.accountId, spent);
    if (!share.isTipped) {
      total += cost;
      spent.total += cost;
      if (share.isClientId) spent.client += cost;
    } else if (
      !outcomes.some(({ kind, vault }) => kind === "executed" && vault === share.address)
    ) {
      spent.tips += cost;
    }
  }
  await saveSpending(transaction, chainId, day, total);
  for (const accountId of new Set(shares.map((share) => share.accountId))) {
    await saveAccountSpending(transaction, chainId, day, accountId, accounts.get(accountId)!);
  }
}

async function saveSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  more: bigint,
): Promise<void> {
  const wei = ((await readSpending(transaction, chainId, day)) + more).toString();
  await transaction
    .insertInto("executor_spending")
    .values({ chain_id: chainId, day, wei })
    .onConflict((conflict) => conflict.columns(["chain_id", "day"]).doUpdateSet({ wei }))
    .execute();
}

async function saveAccountSpending(
  transaction: Transaction<Tables>,
  chainId: number,
  day: number,
  accountId: string,
  { total, client, tips }: AccountSpending,
): Promise<void> {
  const sums = {
    wei: total.toString(),
    client_wei: client.toString(),
    tip_loss_wei: tips.toString(),
  };
  await transaction
    .insertInto("executor_account_spending")
    .values({ chain_id: chainId, day, account_id: accountId, ...sums })
    .onConflict((conflict) => conflict.columns(["chain_id", "day", "account_id"]).doUpdateSet(sums))
    .execute();
}
