// Payments to an address, proved: a node says where they are, and the receipts of those blocks
// whether that is so. Native coin leaves no log, so of it there is no payment to prove.

import { transferTopic } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { type Rpc, RpcError, toQuantity } from "../status/rpc.ts";
import type { BlockReference } from "../status/shape.ts";
import { type AgreedBlock, agree, parseAgreement } from "./agree.ts";
import { askEvents } from "./build/ask.ts";
import { ProofError } from "./error.ts";
import { provePayment, type TransactionProof } from "./execution.ts";
import { fromAny, type GatherOptions } from "./gather.ts";

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
      const block = await agree(rpcs, place.number, quorum);
      if (block?.hash !== place.blockHash)
        throw new ProofError("unproved", `block ${place.number} is not one that others have`);
      const { proof, found: proved } = await askEvents(rpc, record, place, provePayment, options);
      const { depth: _, ...payment } = proved;
      found.push({ ...payment, proof });
    }
    return found;
  });
}

async function placesOf(rpc: Rpc, { address, intent }: AddressRecord, to: number) {
  const filter = (from: number) => ({
    address: intent.token,
    topics: [transferTopic, null, `0x${address.slice(2).toLowerCase().padStart(64, "0")}`],
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
  });
  const logs = await rpc("eth_getLogs", [filter(0)]).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
    return rpc("eth_getLogs", [filter(Math.max(0, to - rangeBlocks))]);
  });
  const places = new Map<string, { number: number; blockHash: Hex; transactionHash: Hex }>();
  for (const log of Array.isArray(logs) ? logs : []) {
    const { transactionHash, blockHash, blockNumber } = log ?? {};
    places.set(transactionHash, { number: Number(blockNumber), blockHash, transactionHash });
  }
  return [...places.values()].slice(-paymentsMax);
}
