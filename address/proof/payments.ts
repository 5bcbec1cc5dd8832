// Finds and proves payments to an address. Nodes report the blocks with payments. The receipts of
// these blocks prove the payments. Payments in native coin have no logs, so they cannot be proved.

import { isHash, lowerHex, toQuantity } from "../abi/hex.ts";
import { topicOf, transferOf, transferTopic } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { type Rpc, RpcError } from "../status/rpc.ts";
import type { BlockReference } from "../status/shape.ts";
import {
  type AgreedBlock,
  agree,
  type GatherOptions,
  parseAgreement,
  type Rpcs,
  toRpc,
} from "./agree.ts";
import { askEvents } from "./build/ask.ts";
import { ProofError } from "./error.ts";
import { provePayment, type TransactionProof } from "./execution.ts";
import { assertAgreed, findProved, fromAny } from "./gather.ts";

/** The payments of one transaction in the intent's token. Amounts are in base units. */
export type PaymentProof = {
  readonly transactionHash: Hex;
  readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
  readonly block: BlockReference;
  readonly proof: TransactionProof;
};

/** Limits the size of a receipt, because anybody can pay an address any number of times. */
export const provedPaymentsMax = 4;
/**
 * The maximum number of hex characters in a payment's proof. Payments with longer proofs are
 * omitted.
 */
const proofCharactersMax = 64_000;
/** If a node refuses a search of all blocks, this number of newest blocks is searched. */
const rangeBlocks = 9_000;

/**
 * The largest payments up to `block`, with their proofs. `omitted` is the number of transactions
 * with payments that `payments` omits. `omitted` includes only transactions that are proved or that
 * a quorum of nodes reports. Payments may be missing if `disputed` or `partial` is true. `disputed`
 * means that a node failed, nodes disagreed, or a payment was not proved. `partial` means that a
 * node refused to search all blocks, so only the newest {@link rangeBlocks} were searched.
 */
export type PaymentsUpTo = {
  readonly payments: readonly PaymentProof[];
  readonly omitted: number;
  readonly disputed: boolean;
  readonly partial: boolean;
  readonly block: BlockReference;
};

/**
 * Returns the transactions with the largest payments to `record`, up to the block `agreed`, oldest
 * first. A large payment is listed regardless of how many small payments follow. Asks every node,
 * so that one node cannot hide a payment that another node reports. Each reported payment is
 * proved, so that no node can invent a payment.
 *
 * @param since an earlier result, so that only later logs are read. Ignored if `since` is disputed
 *   or if its block is not part of the chain
 * @throws {ProofError} `unproved` if no node answers the requests for the payment logs
 */
export async function findPayments(
  record: AddressRecord,
  agreed: AgreedBlock,
  { rpcs, ...options }: GatherOptions,
  since?: PaymentsUpTo,
): Promise<PaymentsUpTo> {
  const { quorum } = parseAgreement(rpcs, options);
  const isLater = since && !since.disputed && since.block.number <= agreed.number;
  const still = isLater ? await agree(rpcs, since.block.number, quorum) : undefined;
  const known = still?.block?.hash === since?.block.hash ? since : undefined;
  const before = known?.payments ?? [];
  const from = known ? known.block.number + 1 : 0;
  const { reports, disputed, partial } = await readReports(rpcs, record, from, agreed.number);
  // Selects the largest payments of each node's report, and not of all reports together. A node can
  // report large payments that do not exist, which could displace real ones.
  const candidates = distinct(reports.flatMap((report) => largest(report, readAmount)));
  const proved: PaymentProof[] = [];
  let unproved = 0;
  for (const { place } of candidates) {
    const found = await proofAt(place).catch((error: unknown) => {
      if (!(error instanceof ProofError)) throw error;
      unproved += 1;
    });
    if (found) proved.push(found);
  }
  const payments = largest([...before, ...proved], sumPayment);
  // The number of payments is unlimited, because anybody can pay an address. The count must
  // therefore take linear time.
  const counts = new Map<string, number>();
  for (const { place } of reports.flat())
    counts.set(makeKey(place), (counts.get(makeKey(place)) ?? 0) + 1);
  const seen = new Set([...counts.keys()].filter((key) => counts.get(key)! >= quorum));
  const hashes = new Set(proved.map(({ transactionHash }) => transactionHash));
  for (const { place } of candidates)
    if (hashes.has(place.transactionHash)) seen.add(makeKey(place));
  return {
    payments,
    omitted: (known?.omitted ?? 0) + before.length + seen.size - payments.length,
    disputed: disputed || unproved > 0,
    partial: partial || (known?.partial ?? false),
    block: { number: agreed.number, hash: agreed.hash, timestamp: agreed.timestamp },
  };

  /**
   * Proves the payments of a transaction. Returns undefined if the proof is longer than {@link
   * proofCharactersMax}.
   */
  async function proofAt(place: Place): Promise<PaymentProof | undefined> {
    await assertAgreed(rpcs, place, quorum);
    const { proof, found } = await fromAny(rpcs, (rpc) =>
      askEvents(rpc, record, place, provePayment, options),
    );
    const { depth: _, ...payment } = found;
    const size = [...proof.receipt, ...proof.transaction].reduce(
      (sum, { length }) => sum + length,
      0,
    );
    return size > proofCharactersMax ? undefined : { ...payment, proof };
  }
}

/**
 * Reads the payments that each node reports from block `from` to `to`. The result is disputed if a
 * node's requests fail, or if two nodes report different transactions.
 */
async function readReports(rpcs: Rpcs, record: AddressRecord, from: number, to: number) {
  const answers = await Promise.allSettled(
    rpcs.map((rpc) => readPlaces(toRpc(rpc), record, from, to)),
  );
  const found = answers.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const reports = found.map(({ places }) => places);
  if (reports.length === 0) {
    const reasons = answers.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    const message = reasons.map((reason) => (reason as Error).message).join("; ");
    throw new ProofError("unproved", message, { cause: reasons[0] });
  }
  const texts = reports.map((report) =>
    report
      .map(({ place }) => makeKey(place))
      .sort()
      .join(),
  );
  const disputed = reports.length < rpcs.length || new Set(texts).size > 1;
  return { reports, disputed, partial: found.some((each) => each.partial) };
}

const makeKey = ({ transactionHash, blockHash }: Place) => `${transactionHash} ${blockHash}`;

/** Removes duplicates, and sorts the remaining candidates by block. */
const distinct = (all: readonly Candidate[]): Candidate[] =>
  [...new Map(all.map((each) => [makeKey(each.place), each])).values()].sort(
    (a, b) => a.place.blockNumber - b.place.blockNumber,
  );

const sumPayment = ({ payments }: PaymentProof) =>
  payments.reduce((sum, { amount }) => sum + BigInt(amount), 0n);

const readAmount = ({ amount }: Candidate) => amount;

/**
 * Returns the `provedPaymentsMax` largest items in their original order. If items are equal,
 * prefers later items.
 */
const largest = <T>(all: readonly T[], sizeOf: (each: T) => bigint): T[] => {
  const ranks = all.map((each, at) => ({ amount: sizeOf(each), at }));
  ranks.sort((a, b) => (a.amount === b.amount ? b.at - a.at : a.amount < b.amount ? 1 : -1));
  const kept = new Set(ranks.slice(0, provedPaymentsMax).map(({ at }) => at));
  return all.filter((_, at) => kept.has(at));
};

/** A payment that an event reports. */
type ReportedPayment = {
  readonly token: Hex;
  readonly transactionHash: Hex;
  readonly blockNumber: number;
};

/**
 * Proves the amount that a reported transaction paid to `record` in one token.
 *
 * @returns undefined if a quorum of nodes finds no such payment
 * @throws {ProofError} `unproved`
 */
export function findPayment(
  record: AddressRecord,
  { token, transactionHash, blockNumber }: ReportedPayment,
  options: GatherOptions,
) {
  const place = async (rpc: Rpc) => {
    const filter = transferFilter(record, token, blockNumber, blockNumber);
    const places = parsePlaces(await rpc("eth_getLogs", [filter]), blockNumber, blockNumber);
    const wanted = transactionHash.toLowerCase();
    return places.find(({ place }) => place.transactionHash === wanted)?.place;
  };
  return findProved(record, options, place, (of, proof, block, given) =>
    provePayment(of, proof, block, { ...given, token }),
  );
}

async function readPlaces(rpc: Rpc, record: AddressRecord, first: number, to: number) {
  if (first > to) return { places: [], partial: false };
  let from = first;
  const search = () => rpc("eth_getLogs", [transferFilter(record, record.intent.token, from, to)]);
  const logs = await search().catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
    from = Math.max(first, to - rangeBlocks);
    return search();
  });
  return { places: parsePlaces(logs, first, to), partial: from > first };
}

const transferFilter = ({ address }: AddressRecord, token: Hex, from: number, to: number) => ({
  address: token,
  topics: [transferTopic, null, topicOf(address)],
  fromBlock: toQuantity(from),
  toBlock: toQuantity(to),
});

type Place = { blockNumber: number; blockHash: Hex; transactionHash: Hex };
type Candidate = { place: Place; amount: bigint };

/** Reads the block and the amount of each transaction in `logs`, from block `first` to `to`. */
function parsePlaces(logs: unknown, first: number, to: number): Candidate[] {
  const places = new Map<string, Candidate>();
  for (const log of Array.isArray(logs) ? logs : []) {
    const transactionHash = lowerHex(log?.transactionHash);
    const blockHash = lowerHex(log?.blockHash);
    const blockNumber = Number(log?.blockNumber);
    const isInRange = blockNumber >= first && blockNumber <= to;
    if (!isHash(transactionHash) || !isHash(blockHash) || !isInRange) continue;
    const amount = (transferOf(log)?.amount ?? 0n) + (places.get(transactionHash)?.amount ?? 0n);
    places.set(transactionHash, { place: { blockNumber, blockHash, transactionHash }, amount });
  }
  return [...places.values()];
}
