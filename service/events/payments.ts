// Stores payments from the transfer logs of tokens. Events report only stored payments.
//
// The number of stored payments is limited, because anyone can pay an address any number of times.
// There are three classes: payments in imitations of listed tokens (look-alikes), small payments,
// and others. For each address and chain, the first `paymentsMax` payments of each class are
// stored. A payment is small if its amount is less than a hundredth of the requested amount. The
// class of small payments also contains payments in unrequested tokens, and payments on chains
// other than the intent's chain.
//
// Beyond the limit, a payment is stored if its amount is among the largest in its token. Only the
// numbers of binary digits are compared. An amount is among the largest if fewer than two stored
// amounts have at least as many digits. So an attacker can hide a payment only with two other
// payments in its token. Each of the two must exceed half of the hidden payment. Beyond the limit,
// at most two payments with the same number of digits are stored for each token.

import { formatAddress, fromHex, type Hex, type Keccak, toHex } from "executable-address";
import type { Kysely, Selectable, Transaction } from "kysely";
import { groupsOf, inGroups } from "../flow/groups.ts";
import type { Payment } from "../follow/payment.ts";
import { findOfOtherChains, findRequested } from "../store/find-records.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";

/** The maximum number of stored payments per class, address, and chain. */
export const paymentsMax = 32;
const smallPart = 100n;

/**
 * A stored payment. Hashes are lowercase. `payer` and `token` are in EIP-55 case. If endpoints
 * return different transfers for the same log index, all these transfers are stored. At most one of
 * these transfers is real. `claim` is the transfer's index among them, starting at 0.
 */
export type StoredPayment = Omit<Payment, "address"> & { isSmall: boolean; claim: number };

/** A payment on a chain other than the intent's. */
export type PaymentElsewhere = StoredPayment & { chainId: number };

/** The column `log_index` contains the log's index plus the product of `claim` and this factor. */
const claimFactor = 2 ** 32;

/**
 * Stores payments on the intent's chain, up to the limits. Skips addresses whose intents are for
 * other chains. The call is idempotent.
 *
 * @param payments at most a few hundred
 * @returns the payments in look-alike tokens ({@link isRequested}), including payments to skipped
 *   addresses
 */
export async function saveOwnPayments(
  transaction: Transaction<Tables>,
  chainId: number,
  payments: readonly Payment[],
): Promise<Payment[]> {
  if (payments.length === 0) return [];
  const requested = await findRequested(transaction, chainId, distinctAddresses(payments));
  const own = payments.filter(({ address }) => requested.has(address));
  await insertPayments(transaction, chainId, own, requested);
  return payments.filter((each) => each.isLookalike && !isRequested(requested, each));
}

/**
 * Stores payments to addresses whose intents are for other chains. The limits of
 * {@link saveOwnPayments} apply.
 *
 * @param payments payments whose logs a quorum of endpoints returned. Without a quorum, a single
 * endpoint could invent a payment. The balance on the intent's chain cannot confirm a payment on
 * another chain.
 * @returns the payments that were not stored before
 */
export async function savePaymentsElsewhere(
  transaction: Transaction<Tables>,
  chainId: number,
  payments: readonly Payment[],
): Promise<Payment[]> {
  if (payments.length === 0) return [];
  const others = await findOfOtherChains(transaction, chainId, distinctAddresses(payments));
  const some = payments.filter(({ address }) => others.has(address));
  return insertPayments(transaction, chainId, some, new Map());
}

const distinctAddresses = (payments: readonly Payment[]): Uint8Array[] =>
  [...new Set(payments.map(({ address }) => address))].map((each) => fromHex(each));

/** By address. */
type Requested = ReadonlyMap<Hex, { token: Hex; amount: string }>;

/**
 * Returns whether the address's intent requests the token of the payment. A requested token is not
 * a look-alike, even if the operator lists it as one.
 */
const isRequested = (requested: Requested, { address, token }: Payment): boolean =>
  requested.get(address)?.token === token;

/** @param requested has entries only for addresses whose intents are for `chainId` */
async function insertPayments(
  transaction: Transaction<Tables>,
  chainId: number,
  payments: readonly Payment[],
  requested: Requested,
): Promise<Payment[]> {
  if (payments.length === 0) return [];
  const stored = await transaction
    .selectFrom("payments")
    .selectAll()
    .where("address", "in", distinctAddresses(payments))
    .where("chain_id", "=", chainId)
    .execute();
  const claims = Map.groupBy(stored.map(contentOf), ({ place }) => place);
  const counts = new Map<string, number>();
  const sizes = new Map<string, number[]>();
  for (const row of stored) {
    add(counts, `${toHex(row.address)} ${classOf(row)}`);
    addSize(sizes, `${toHex(row.address)} ${toHex(row.token)}`, row.amount);
  }
  const found = payments.flatMap((payment) => {
    const { address, token, amount, isLookalike } = payment;
    const wanted = requested.get(address);
    const isWanted = isRequested(requested, payment);
    const row = rowOf(chainId, payment);
    const claim = contentOf(row);
    const others = claims.get(claim.place) ?? [];
    if (others.some(({ content }) => content === claim.content)) return [];
    const is_small = isWanted && BigInt(amount) * smallPart >= BigInt(wanted!.amount) ? 0 : 1;
    const size = { is_small, is_lookalike: isLookalike && !isWanted ? 1 : 0 };
    const isBeyond = add(counts, `${address} ${classOf(size)}`) > paymentsMax;
    const isGreat = addSize(sizes, `${address} ${token}`, amount);
    if (isBeyond && !isGreat) return [];
    claims.set(claim.place, [...others, claim]);
    const log_index = row.log_index + claimFactor * others.length;
    return [{ payment, row: { ...row, ...size, log_index, is_agreed: wanted ? 0 : 1 } }];
  });
  if (found.length === 0) return [];
  await transaction
    .insertInto("payments")
    .values(found.map(({ row }) => row))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return found.map(({ payment }) => payment);
}

type Row = Omit<Selectable<Tables["payments"]>, "is_small" | "is_lookalike" | "is_agreed">;

/**
 * Returns the position and the content of a log. Endpoints can return different logs for the same
 * position.
 */
function contentOf(row: Row) {
  const { address, token, payer, transaction_hash, amount } = row;
  return {
    place: `${toHex(address)} ${row.block_number} ${Number(row.log_index) % claimFactor}`,
    content: `${[token, payer, transaction_hash].map((each) => toHex(each)).join(" ")} ${amount}`,
  };
}

type Size = Pick<Selectable<Tables["payments"]>, "is_small" | "is_lookalike">;

const classOf = ({ is_small, is_lookalike }: Size): string => `${is_small} ${is_lookalike}`;

function add(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  return count;
}

/**
 * Records the bit length of an amount.
 *
 * @returns whether the amount is among the largest amounts recorded so far
 */
function addSize(sizes: Map<string, number[]>, key: string, amount: string): boolean {
  const bits = countBits(amount);
  const others = sizes.get(key) ?? [];
  sizes.set(key, [...others, bits]);
  return isAmongGreatest(bits, others);
}

export const countBits = (amount: string): number => BigInt(amount).toString(2).length;

/**
 * Returns whether an amount is one of the two largest: at most one of the `others` has the same
 * size or is larger. All numbers are bit lengths of amounts in the same token. The largest amounts
 * are exempt from the limits, so that dust cannot hide a large payment.
 */
export const isAmongGreatest = (bits: number, others: readonly number[]): boolean =>
  others.filter((each) => each >= bits).length < 2;

const rowOf = (chainId: number, payment: Payment) => ({
  chain_id: chainId,
  address: fromHex(payment.address),
  block_number: payment.blockNumber,
  log_index: payment.logIndex,
  block_hash: fromHex(payment.blockHash),
  transaction_hash: fromHex(payment.transactionHash),
  payer: fromHex(payment.payer),
  token: fromHex(payment.token),
  amount: payment.amount,
});

/**
 * After a reorganization, deletes the payments after block `number`.
 *
 * @returns the addresses of deleted payments that were on a chain other than the intent's
 */
export async function forgetPaymentsAbove(
  db: Kysely<Tables>,
  chainId: number,
  number: number,
): Promise<Hex[]> {
  const rows = await db
    .deleteFrom("payments")
    .where("chain_id", "=", chainId)
    .where("block_number", ">", number)
    .returning(["address", "is_agreed"])
    .execute();
  return [...new Set(rows.flatMap((row) => (row.is_agreed ? [toHex(row.address)] : [])))];
}

/** Returns the stored payments on a chain, oldest first. The keys are lowercase addresses. */
export async function readPayments(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
  keccak: Keccak,
): Promise<Map<Hex, StoredPayment[]>> {
  const found = new Map<Hex, StoredPayment[]>();
  for (const some of groupsOf(addresses, statementRows.costly)) {
    const rows = await db
      .selectFrom("payments")
      .selectAll()
      .where("address", "in", some)
      .where("chain_id", "=", chainId)
      .orderBy("address")
      .orderBy("block_number")
      .orderBy("log_index")
      .execute();
    for (const row of rows) {
      const key = toHex(row.address);
      found.set(key, [...(found.get(key) ?? []), toStoredPayment(row, keccak)]);
    }
  }
  return found;
}

/**
 * Returns the rows of {@link readPaymentsElsewhere}.
 * @param addresses at most `statementRows.costly`
 */
export const selectElsewhere = (
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
) =>
  db
    .selectFrom("payments")
    .selectAll()
    .where("address", "in", addresses)
    .where("chain_id", "<>", chainId)
    .where("is_agreed", "=", 1)
    .orderBy("address")
    .orderBy("chain_id")
    .orderBy("block_number")
    .orderBy("log_index")
    .execute();

/**
 * Returns the stored payments of each address on all chains except `chainId`. The map's keys are
 * lowercase addresses. Includes only payments whose logs a quorum of endpoints returned. For each
 * chain, the oldest payment comes first.
 */
export async function readPaymentsElsewhere(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
  keccak: Keccak,
): Promise<Map<Hex, PaymentElsewhere[]>> {
  const rows = await inGroups(addresses, statementRows.costly, (some) =>
    selectElsewhere(db, chainId, some),
  );
  const found = rows.map((row) => ({ row, address: toHex(row.address) }));
  const byAddress = Map.groupBy(found, ({ address }) => address);
  return new Map(
    [...byAddress].map(([address, some]) => [
      address,
      some.map(({ row }) => ({ ...toStoredPayment(row, keccak), chainId: Number(row.chain_id) })),
    ]),
  );
}

const toStoredPayment = (row: Selectable<Tables["payments"]>, keccak: Keccak): StoredPayment => ({
  transactionHash: toHex(row.transaction_hash),
  logIndex: Number(row.log_index) % claimFactor,
  claim: Math.floor(Number(row.log_index) / claimFactor),
  blockNumber: Number(row.block_number),
  blockHash: toHex(row.block_hash),
  payer: formatAddress(row.payer, keccak),
  token: formatAddress(row.token, keccak),
  amount: row.amount,
  isSmall: row.is_small === 1,
  isLookalike: row.is_lookalike === 1,
});
