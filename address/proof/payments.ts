// Payments to an address, proved: a node says where they are, and the receipts of those blocks
// whether that is so. Native coin leaves no log, so of it there is no payment to prove.

import { toQuantity } from "../hex.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { type Rpc, RpcError } from "../status/rpc.ts";
import type { BlockReference } from "../status/shape.ts";
import { topicOf, transferOf, transferTopic } from "../status/transfer.ts";
import { type AgreedBlock, agree, assertAgreed, parseAgreement } from "./agree.ts";
import { askEvents } from "./build/ask.ts";
import { provePayment, type TransactionProof } from "./execution.ts";
import { findProved, fromAny, type GatherOptions } from "./gather.ts";

/** `amount` of the intent's token, in base units, came from `from` in one transaction. */
export type PaymentProof = {
  readonly transactionHash: Hex;
  readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
  readonly block: BlockReference;
  readonly proof: TransactionProof;
};

/** A receipt is to stay small, and strangers may pay an address as often as they like. */
export const paymentsMax = 4;
/** Hex characters of a payment's proof: whoever pays in a larger transaction is not proved. */
const proofCharactersMax = 64_000;
/** Blocks, where a node refuses to search all. */
const rangeBlocks = 9_000;

/** These were paid up to `block`. Nodes told of `omitted` more transactions, and no more. */
export type PaymentsUpTo = {
  readonly payments: readonly PaymentProof[];
  readonly omitted: number;
  readonly block: BlockReference;
};

/**
 * The transactions up to `agreed` that paid `record` the most, oldest first: however many small
 * ones follow, a payment that matters stays.
 *
 * @param since what was found before: unless its block left the chain, only later logs are read
 * @throws {ProofError} `unproved`
 */
export async function findPayments(
  record: AddressRecord,
  agreed: AgreedBlock,
  { rpcs, ...options }: GatherOptions,
  since?: PaymentsUpTo,
): Promise<PaymentsUpTo> {
  const { quorum } = parseAgreement(rpcs, options);
  const isLater = since && since.block.number <= agreed.number;
  const still = isLater ? await agree(rpcs, since.block.number, quorum) : undefined;
  const known = still?.hash === since?.block.hash ? since : undefined;
  const before = known?.payments.map((payment) => ({ payment, amount: sumOf(payment) })) ?? [];
  return fromAny(rpcs, async (rpc) => {
    const told = await placesOf(rpc, record, known ? known.block.number + 1 : 0, agreed.number);
    const chosen = greatest<Candidate>([...before, ...told]);
    const payments: PaymentProof[] = [];
    for (const { payment, place } of chosen) {
      const found = payment ?? (await proofAt(rpc, place!));
      if (found) payments.push(found);
    }
    const omitted = (known?.omitted ?? 0) + before.length + told.length - payments.length;
    const { number, hash, timestamp } = agreed;
    return { payments, omitted, block: { number, hash, timestamp } };
  });

  async function proofAt(rpc: Rpc, place: Place): Promise<PaymentProof | undefined> {
    await assertAgreed(rpcs, place, quorum);
    const { proof, found } = await askEvents(rpc, record, place, provePayment, options);
    const { depth: _, ...payment } = found;
    const size = [...proof.receipt, ...proof.transaction].reduce(
      (sum, { length }) => sum + length,
      0,
    );
    return size > proofCharactersMax ? undefined : { ...payment, proof };
  }
}

const sumOf = ({ payments }: PaymentProof) =>
  payments.reduce((sum, { amount }) => sum + BigInt(amount), 0n);

/** The greatest of what is in order, still in order; of equal ones the later. */
const greatest = <T extends { amount: bigint }>(all: readonly T[]): T[] => {
  const ranks = all.map(({ amount }, at) => ({ amount, at }));
  ranks.sort((a, b) => (a.amount === b.amount ? b.at - a.at : a.amount < b.amount ? 1 : -1));
  const kept = new Set(ranks.slice(0, paymentsMax).map(({ at }) => at));
  return all.filter((_, at) => kept.has(at));
};

/** A payment that somebody told of. */
type Told = { readonly token: Hex; readonly transactionHash: Hex; readonly blockNumber: number };

/**
 * Proves what one transaction, in the block that is named, paid to `record` in one token.
 *
 * @returns undefined where `quorum` nodes know of no such payment
 * @throws {ProofError} `unproved`
 */
export function findPayment(
  record: AddressRecord,
  { token, transactionHash, blockNumber }: Told,
  options: GatherOptions,
) {
  const place = async (rpc: Rpc) => {
    const filter = filterOf(record, token, blockNumber, blockNumber);
    const places = placesIn(await rpc("eth_getLogs", [filter]));
    const wanted = transactionHash.toLowerCase();
    return places.find(({ place }) => place.transactionHash === wanted)?.place;
  };
  return findProved(record, options, place, (of, proof, block, given) =>
    provePayment(of, proof, block, { ...given, token }),
  );
}

async function placesOf(rpc: Rpc, record: AddressRecord, first: number, to: number) {
  if (first > to) return [];
  const filter = (from: number) => filterOf(record, record.intent.token, from, to);
  const logs = await rpc("eth_getLogs", [filter(first)]).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
    return rpc("eth_getLogs", [filter(Math.max(first, to - rangeBlocks))]);
  });
  return placesIn(logs);
}

const filterOf = ({ address }: AddressRecord, token: Hex, from: number, to: number) => ({
  address: token,
  topics: [transferTopic, null, topicOf(address)],
  fromBlock: toQuantity(from),
  toBlock: toQuantity(to),
});

type Place = { blockNumber: number; blockHash: Hex; transactionHash: Hex };
type Candidate = { payment?: PaymentProof; place?: Place; amount: bigint };

/** Finds where the transactions of some logs are, and what each paid. */
function placesIn(logs: unknown) {
  const places = new Map<string, { place: Place; amount: bigint }>();
  for (const log of Array.isArray(logs) ? logs : []) {
    const { transactionHash, blockHash, blockNumber } = log ?? {};
    const place = { blockNumber: Number(blockNumber), blockHash, transactionHash };
    const amount = (transferOf(log)?.amount ?? 0n) + (places.get(transactionHash)?.amount ?? 0n);
    places.set(transactionHash, { place, amount });
  }
  return [...places.values()];
}
