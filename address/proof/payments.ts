// Payments to an address, proved: a node says where they are, and the receipts of those blocks
// whether that is so. Native coin leaves no log, so of it there is no payment to prove.

import type { AddressRecord, Hex } from "../intent/intent.ts";
import { type Rpc, RpcError, toQuantity } from "../status/rpc.ts";
import type { BlockReference } from "../status/shape.ts";
import { topicOf, transferTopic } from "../status/transfer.ts";
import { type AgreedBlock, agree, parseAgreement } from "./agree.ts";
import { askEvents } from "./build/ask.ts";
import { ProofError } from "./error.ts";
import { provePayment, type TransactionProof } from "./execution.ts";
import { findProved, fromAny, type GatherOptions } from "./gather.ts";

/** `amount` of the intent's token, in base units, came from `from` in one transaction. */
export type PaymentProof = {
  readonly transactionHash: Hex;
  readonly payments: readonly { readonly from: Hex; readonly amount: string }[];
  readonly block: BlockReference;
  readonly proof: TransactionProof;
};

/** A receipt is to stay small: the newest transactions alone. */
export const paymentsMax = 4;
/** Blocks, where a node refuses to search all. */
const rangeBlocks = 9_000;

/**
 * The newest transactions that paid `record` up to `agreed`, oldest first.
 *
 * @throws {ProofError} `unproved`
 */
export async function findPayments(
  record: AddressRecord,
  agreed: AgreedBlock,
  { rpcs, ...options }: GatherOptions,
): Promise<PaymentProof[]> {
  const { quorum } = parseAgreement(rpcs, options);
  return fromAny(rpcs, async (rpc) => {
    const found: PaymentProof[] = [];
    for (const place of await placesOf(rpc, record, agreed.number)) {
      const block = await agree(rpcs, place.blockNumber, quorum);
      if (block?.hash !== place.blockHash)
        throw new ProofError("unproved", `block ${place.blockNumber} is not one that others have`);
      const { proof, found: proved } = await askEvents(rpc, record, place, provePayment, options);
      const { depth: _, ...payment } = proved;
      found.push({ ...payment, proof });
    }
    return found;
  });
}

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
    return places.find((each) => each.transactionHash === transactionHash.toLowerCase());
  };
  return findProved(record, options, place, (of, proof, block, given) =>
    provePayment(of, proof, block, { ...given, token }),
  );
}

async function placesOf(rpc: Rpc, record: AddressRecord, to: number) {
  const filter = (from: number) => filterOf(record, record.intent.token, from, to);
  const logs = await rpc("eth_getLogs", [filter(0)]).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
    return rpc("eth_getLogs", [filter(Math.max(0, to - rangeBlocks))]);
  });
  return placesIn(logs).slice(-paymentsMax);
}

const filterOf = ({ address }: AddressRecord, token: Hex, from: number, to: number) => ({
  address: token,
  topics: [transferTopic, null, topicOf(address)],
  fromBlock: toQuantity(from),
  toBlock: toQuantity(to),
});

/** Finds where the transactions of some logs are. */
function placesIn(logs: unknown) {
  const places = new Map<string, { blockNumber: number; blockHash: Hex; transactionHash: Hex }>();
  for (const log of Array.isArray(logs) ? logs : []) {
    const { transactionHash, blockHash, blockNumber } = log ?? {};
    places.set(transactionHash, { blockNumber: Number(blockNumber), blockHash, transactionHash });
  }
  return [...places.values()];
}
