// Stores purposes. A purpose is the work for which one nonce is used, such as a batch of
// executions. Before a transaction is sent, one commit saves the transaction, its purpose, and the
// jobs' states. Replacement transactions belong to the same purpose. A job belongs to at most one
// purpose at a time.

import { fromHex, type Hex, toHex } from "executable-address";
import type { Kysely, Selectable, Transaction } from "kysely";
import { dayOf } from "../../flow/days.ts";
import type { Tables } from "../../store/tables.ts";
import type { Payer } from "../money/budgets.ts";
import type { Fee } from "../money/fees.ts";
import type { PurposeKind } from "../tables.ts";
import { type Fence, fenced } from "./lease.ts";
import type { Reason } from "./reasons.ts";
import { noteSent, type ReportedToken } from "./reported-tokens.ts";

/**
 * `raw` is the signed transaction. Times are block times in seconds. `isZeroValueTransfer` is true
 * for a zero-value transfer, which can replace an execution or a recovery.
 */
export type SignedTransaction = {
  hash: Hex;
  raw: Hex;
  fee: Fee;
  signedAtSeconds: number;
  signedBlock: number;
  isZeroValueTransfer: boolean;
};

export type NewPurpose = {
  sender: Hex;
  nonce: number;
  kind: PurposeKind;
  data: Hex;
  gas: number;
  createdAtSeconds: number;
  shares: readonly Share[];
  /** The reported token that the transaction sends to `recovery`, if any. */
  reported?: ReportedToken | undefined;
};

/** An address in a transaction, with its share of the gas and the paying account. */
export type Share = Payer & { address: Hex; gas: number };

/**
 * `transactions` contains the first transaction and its replacements, sorted by fee, lowest first.
 * Any of these transactions can be mined, but only one. A pending purpose gets a `blockNumber` when
 * one of its transactions is confirmed. Its jobs can then continue. The cost is charged later, when
 * this block is final.
 */
export type Purpose = NewPurpose & {
  id: string;
  blockNumber: number | null;
  addresses: readonly Hex[];
  transactions: SignedTransaction[];
};

/** Thrown if a job was dropped or already belongs to another purpose. */
class PurposeConflict extends Error {
  override name = "PurposeConflict";
}

/** @throws {PurposeConflict} */
export function openPurpose(
  db: Kysely<Tables>,
  fence: Fence,
  purpose: NewPurpose,
  first: SignedTransaction,
): Promise<string> {
  const id = purposeId(fence, purpose);
  return fenced(db, fence, async (transaction) => {
    const assigned = await insertPurpose(transaction, fence, purpose, first);
    if (assigned === purpose.shares.length) return id;
    const taken = await findUnassigned(transaction, fence, id, purpose);
    throw new PurposeConflict(
      `purpose ${id}: an operator dropped these addresses, or they already have another ` +
        `transaction: ${taken.join(", ")}`,
    );
  });
}

export const purposeId = (
  { chainId }: Pick<Fence, "chainId">,
  { sender, nonce }: Pick<NewPurpose, "sender" | "nonce">,
) => `${chainId}:${sender}:${nonce}`;

/**
 * Saves a purpose and its first transaction. Assigns the purpose to the jobs of its addresses.
 * Skips jobs that belong to another purpose or were dropped.
 * @returns the number of jobs to which the purpose was assigned
 */
export async function insertPurpose(
  transaction: Transaction<Tables>,
  fence: Fence,
  purpose: NewPurpose,
  first: SignedTransaction,
): Promise<number> {
  const { sender, nonce, kind, gas } = purpose;
  const id = purposeId(fence, purpose);
  await transaction
    .insertInto("executor_purposes")
    .values({
      id,
      chain_id: fence.chainId,
      sender,
      nonce,
      kind,
      gas,
      data: fromHex(purpose.data),
      state: "pending",
      created_at: purpose.createdAtSeconds,
      block_number: null,
      transaction_hash: null,
    })
    .execute();
  await insertTransaction(transaction, id, first);
  if (purpose.reported) await noteSent(transaction, fence, purpose.reported, id);
  return purpose.shares.length > 0 ? await engage(transaction, fence, id, purpose) : 0;
}

async function engage(
  transaction: Transaction<Tables>,
  { chainId }: Fence,
  id: string,
  { kind, createdAtSeconds, shares }: NewPurpose,
): Promise<number> {
  const rows = shares.map(({ address, gas, accountId, isClientId, isTipped }) => ({
    purpose_id: id,
    address: fromHex(address),
    gas,
    account_id: accountId,
    by_client_id: isClientId ? 1 : 0,
    by_tip: isTipped ? 1 : 0,
  }));
  await transaction.insertInto("executor_purpose_addresses").values(rows).execute();
  const today = dayOf(createdAtSeconds);
  const { numUpdatedRows } = await transaction
    .updateTable("executor_jobs")
    .set({ purpose_id: id, state: "sent", reason: "awaiting_block" satisfies Reason })
    .$if(kind === "recover", (update) =>
      update.set((row) => ({
        recovery_day: today,
        recoveries: row
          .case()
          .when("recovery_day", "=", today)
          .then(row("recoveries", "+", 1))
          .else(1)
          .end(),
      })),
    )
    .where("chain_id", "=", chainId)
    .where(
      "address",
      "in",
      rows.map(({ address }) => address),
    )
    .where("purpose_id", "is", null)
    .where("state", "<>", "dropped")
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Returns the addresses in `shares` that have no job assigned to the purpose `id`. */
async function findUnassigned(
  transaction: Transaction<Tables>,
  { chainId }: Fence,
  id: string,
  { shares }: NewPurpose,
): Promise<Hex[]> {
  const rows = await transaction
    .selectFrom("executor_jobs")
    .select("address")
    .where("chain_id", "=", chainId)
    .where("purpose_id", "=", id)
    .execute();
  const assigned = new Set(rows.map(({ address }) => toHex(address)));
  return shares.flatMap(({ address }) => (assigned.has(address) ? [] : [address]));
}

/** Saves a replacement transaction before the executor sends it. */
export function addTransaction(
  db: Kysely<Tables>,
  fence: Fence,
  purposeId: string,
  signed: SignedTransaction,
): Promise<void> {
  return fenced(db, fence, (transaction) => insertTransaction(transaction, purposeId, signed));
}

async function insertTransaction(
  transaction: Transaction<Tables>,
  purposeId: string,
  { hash, raw, fee, signedAtSeconds, signedBlock, isZeroValueTransfer }: SignedTransaction,
): Promise<void> {
  await transaction
    .insertInto("executor_transactions")
    .values({
      hash,
      purpose_id: purposeId,
      raw: fromHex(raw),
      max_fee: fee.maxFee.toString(),
      priority_fee: fee.priorityFee.toString(),
      signed_at: signedAtSeconds,
      signed_block: signedBlock,
      is_fill: isZeroValueTransfer ? 1 : 0,
    })
    .execute();
}

/** Lists a chain's pending purposes, with one row per transaction. */
export async function listInFlight(db: Kysely<Tables>, chainId: number) {
  const rows = await db
    .selectFrom("executor_purposes as purpose")
    .leftJoin("executor_transactions as sent", "sent.purpose_id", "purpose.id")
    .select(["purpose.nonce", "purpose.kind", "sent.hash", "sent.max_fee"])
    .where("purpose.chain_id", "=", chainId)
    .where("purpose.state", "=", "pending")
    .orderBy("purpose.nonce")
    .execute();
  return rows.map(({ nonce, kind, hash, max_fee }) => ({ nonce, kind, hash, maxFee: max_fee }));
}

/** Returns a sender's pending purposes, sorted by nonce. */
export function findPending(db: Kysely<Tables>, chainId: number, sender: Hex): Promise<Purpose[]> {
  return findPurposes(db, chainId, sender, (query) => query.where("state", "=", "pending"));
}

/**
 * Returns a sender's purposes whose nonces are at least `nonce`, except unconfirmed purposes. If a
 * caller passes the sender's next nonce on chain, the result contains the purposes whose
 * transactions a reorganization removed.
 */
export function findConfirmedFrom(
  db: Kysely<Tables>,
  chainId: number,
  sender: Hex,
  nonce: number,
): Promise<Purpose[]> {
  return findPurposes(db, chainId, sender, (query) =>
    query
      .where((row) => row.or([row("state", "<>", "pending"), row("block_number", "is not", null)]))
      .where("nonce", ">=", nonce),
  );
}

/** Returns confirmed and settled purposes whose transactions were mined above block `number`. */
export function findConfirmedAbove(
  db: Kysely<Tables>,
  chainId: number,
  sender: Hex,
  number: number,
): Promise<Purpose[]> {
  return findPurposes(db, chainId, sender, (query) =>
    query.where("state", "in", ["pending", "settled"]).where("block_number", ">", number),
  );
}

type PurposeQuery = ReturnType<typeof purposeQuery>;

function purposeQuery(db: Kysely<Tables>, chainId: number, sender: Hex) {
  return db
    .selectFrom("executor_purposes")
    .selectAll()
    .where("chain_id", "=", chainId)
    .where("sender", "=", sender);
}

async function findPurposes(
  db: Kysely<Tables>,
  chainId: number,
  sender: Hex,
  narrow: (query: PurposeQuery) => PurposeQuery,
): Promise<Purpose[]> {
  const found = await narrow(purposeQuery(db, chainId, sender)).execute();
  if (found.length === 0) return [];
  // Sorting in SQLite would scan all purposes of the sender.
  const rows = found.toSorted((a, b) => a.nonce - b.nonce);
  const ids = rows.map((row) => row.id);
  const transactions = await db
    .selectFrom("executor_transactions")
    .selectAll()
    .where("purpose_id", "in", ids)
    .orderBy("signed_at")
    .execute();
  const addresses = await db
    .selectFrom("executor_purpose_addresses")
    .selectAll()
    .where("purpose_id", "in", ids)
    .execute();
  return rows.map((row) => {
    const shares = addresses.filter((entry) => entry.purpose_id === row.id).map(toShare);
    return {
      id: row.id,
      sender,
      nonce: row.nonce,
      kind: row.kind,
      data: toHex(row.data),
      gas: row.gas,
      createdAtSeconds: row.created_at,
      blockNumber: row.block_number,
      shares,
      addresses: shares.map(({ address }) => address),
      transactions: transactions
        .filter((entry) => entry.purpose_id === row.id)
        .map((entry) => ({
          hash: entry.hash as Hex,
          raw: toHex(entry.raw),
          fee: { maxFee: BigInt(entry.max_fee), priorityFee: BigInt(entry.priority_fee) },
          signedAtSeconds: entry.signed_at,
          signedBlock: entry.signed_block,
          isZeroValueTransfer: entry.is_fill === 1,
        }))
        .sort(byOffer),
    };
  });
}

/**
 * Compares transactions by fee. If the fees are equal, a zero-value transfer comes after the
 * transaction that it replaces. The fees can be equal if no node accepted the replaced transaction.
 */
function byOffer(a: SignedTransaction, b: SignedTransaction): number {
  if (a.fee.maxFee === b.fee.maxFee)
    return Number(a.isZeroValueTransfer) - Number(b.isZeroValueTransfer);
  return a.fee.maxFee < b.fee.maxFee ? -1 : 1;
}

export const toShare = (row: Selectable<Tables["executor_purpose_addresses"]>): Share => ({
  address: toHex(row.address),
  gas: row.gas,
  accountId: row.account_id,
  isClientId: row.by_client_id === 1,
  isTipped: row.by_tip === 1,
});

/** Returns the sender's highest stored nonce plus one; 0 if there is none. */
export async function readNextNonce(
  db: Kysely<Tables>,
  chainId: number,
  sender: Hex,
): Promise<number> {
  const row = await db
    .selectFrom("executor_purposes")
    .select((select) => select.fn.max("nonce").as("highest"))
    .where("chain_id", "=", chainId)
    .where("sender", "=", sender)
    .executeTakeFirst();
  return row?.highest == null ? 0 : Number(row.highest) + 1;
}
