// Stores the payments that the logs of listed tokens show, in the transaction that wakes the
// executor. Anyone can pay an address any number of times. So only the first `paymentsMax` payments
// of each class have a row, and only payments with a row have an event. One class is look-alikes.
// Another class is small payments: below a hundredth of the amount, in a different token, or on a
// chain that is not the intent's.
//
// A payment above the limit of its class still gets a row if fewer than two stored payments of its
// token have at least as many bits. So a stranger who wants to hide a payment has to send about as
// much of the same token twice. In addition to the limits, a token has at most two rows for each
// bit of its greatest amount.

import { formatAddress, fromHex, type Hex, type Keccak, toHex } from "executable-address";
import type { Kysely, Selectable, Transaction } from "kysely";
import { groupsOf, inGroups, statementRows } from "../flow/groups.ts";
import type { Payment } from "../follow/parts.ts";
import { findOfOtherChains, findRequested } from "../store/find-records.ts";
import type { Tables } from "../store/tables.ts";

/** The maximum number of rows of an address for each class of payments. */
export const paymentsMax = 32;
const smallPart = 100n;
const ofSizeMax = 2;

/**
 * A stored payment. Hashes are lowercase. `payer` and `token` are in EIP-55 case. If endpoints
 * contradict each other about the transfer at a log index, all transfers are stored, and `claim`
 * numbers them from 0. At most one is real.
 */
export type KeptPayment = Omit<Payment, "address"> & { isSmall: boolean; claim: number };

/** A payment on a chain other than the intent's. */
export type PaymentElsewhere = KeptPayment & { chainId: number };

/** A row's `log_index` is the log's index plus the claim multiplied by this factor. */
const claimFactor = 2 ** 32;

/**
 * Stores payments to addresses on this chain, up to the limit of each address. The call is
 * idempotent. Payments to addresses whose intents are for other chains are skipped.
 *
 * @param payments at most a few hundred
 * @returns the payments of look-alikes, except look-alikes that the address's intent requests
 */
export async function keepPayments(
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
 * Stores payments to addresses whose intents are for other chains, like {@link keepPayments}.
 *
 * @param payments payments that a quorum of endpoints has shown. Such money leaves no trace on the
 *   intent's chain, so a single endpoint could otherwise invent it.
 * @returns the payments that were not stored before
 */
export async function keepElsewhere(
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

/** The requested token and amount by address. */
type Requested = ReadonlyMap<Hex, { token: Hex; amount: string }>;

/** An operator can list a token as a look-alike while open addresses request it. */
const isRequested = (requested: Requested, { address, token }: Payment): boolean =>
  requested.get(address)?.token === token;

/** @param requested has no entry for an address whose intent is for a different chain */
async function insertPayments(
  transaction: Transaction<Tables>,
  chainId: number,
  payments: readonly Payment[],
  requested: Requested,
): Promise<Payment[]> {
  if (payments.length === 0) return [];
  const kept = await transaction
    .selectFrom("payments")
    .selectAll()
    .where("address", "in", distinctAddresses(payments))
    .where("chain_id", "=", chainId)
    .execute();
  const claims = Map.groupBy(kept.map(contentOf), ({ place }) => place);
  const counts = new Map<string, number>();
  const sizes = new Map<string, number[]>();
  for (const row of kept) {
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
    const isAmongGreatest = addSize(sizes, `${address} ${token}`, amount) <= ofSizeMax;
    if (isBeyond && !isAmongGreatest) return [];
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

/** Returns the place and the content of a log as text. */
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
 * Records an amount.
 *
 * @returns the number of recorded amounts of the same or a greater size, including this amount
 */
function addSize(sizes: Map<string, number[]>, key: string, amount: string): number {
  const bits = BigInt(amount).toString(2).length;
  const all = sizes.get(key) ?? [];
  all.push(bits);
  sizes.set(key, all);
  return all.filter((each) => each >= bits).length;
}

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
 * After a reorganization, deletes the payments in the replaced blocks above `number`. The chain's
 * loop then reads the new blocks.
 *
 * @returns the addresses whose deleted payments were on a chain other than their intent's
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

/** Returns the stored payments by lowercase address, in the order of the chain. */
export async function readPayments(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
  keccak: Keccak,
): Promise<Map<Hex, KeptPayment[]>> {
  const found = new Map<Hex, KeptPayment[]>();
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
      found.set(key, [...(found.get(key) ?? []), keptOf(row, keccak)]);
    }
  }
  return found;
}

/** Returns the agreed payments on other chains than `chainId`, in the order of each chain. */
export async function readPaymentsElsewhere(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
  keccak: Keccak,
): Promise<Map<Hex, PaymentElsewhere[]>> {
  const rows = await inGroups(addresses, statementRows.costly, (some) =>
    db
      .selectFrom("payments")
      .selectAll()
      .where("address", "in", some)
      .where("chain_id", "<>", chainId)
      .where("is_agreed", "=", 1)
      .orderBy("address")
      .orderBy("chain_id")
      .orderBy("block_number")
      .orderBy("log_index")
      .execute(),
  );
  const found = rows.map((row) => ({ row, address: toHex(row.address) }));
  const byAddress = Map.groupBy(found, ({ address }) => address);
  return new Map(
    [...byAddress].map(([address, some]) => [
      address,
      some.map(({ row }) => ({ ...keptOf(row, keccak), chainId: Number(row.chain_id) })),
    ]),
  );
}

const keptOf = (row: Selectable<Tables["payments"]>, keccak: Keccak): KeptPayment => ({
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
