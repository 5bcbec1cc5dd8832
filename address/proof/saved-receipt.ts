// The receipt that a user keeps: the record, and proofs of its outcome and payments. To verify a
// receipt, you need only the hashes of its blocks. A receipt therefore remains useful after the
// service is shut down.

import { type Hex, isHash, isSame } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeType, describeValue } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { verifyRecord } from "../record.ts";
import type { BlockReference } from "../status/shape.ts";
import { type AddressProof, type ProvedAddress, verifyAddressProof } from "./address-proof.ts";
import { agree, blockHashOf, type GatherOptions, parseAgreement } from "./agree.ts";
import { invalidProof, ProofError } from "./error.ts";
import { provePayment } from "./execution.ts";
import { proveAddress } from "./gather.ts";
import { type ProofOptions, parseList } from "./outcome.ts";
import { findPayments, type PaymentProof, provedPaymentsMax } from "./payments.ts";

export const receiptFormat = "executable-address-receipt/1";

/** spec/proof.md §2 describes the format. */
export type SavedReceipt = {
  readonly format: typeof receiptFormat;
  readonly record: AddressRecord;
  readonly proof: AddressProof;
  readonly payments: readonly PaymentProof[];
  /**
   * True if payments may be missing: a node failed or searched only the newest blocks, nodes
   * disagreed, or a payment was not proved.
   */
  readonly paymentsDisputed?: true;
};

/**
 * A verified receipt. The receipt proves its outcome only if each block in `blocks` belongs to the
 * chain `record.intent.chainId`.
 */
export type ProvedReceipt = ProvedAddress & {
  readonly record: AddressRecord;
  readonly payments: readonly Omit<PaymentProof, "proof">[];
  readonly blocks: readonly BlockReference[];
};

/**
 * Reads a proof and the payments of `record` from nodes, and returns them as a receipt. Sets
 * `paymentsDisputed` if a node fails or searches only the newest blocks, the reports differ, or a
 * reported payment cannot be proved. If no node answers the requests for payment logs, the receipt
 * lists no payments.
 *
 * @throws {ProofError} the errors of `proveAddress`
 */
export async function makeReceipt(
  record: AddressRecord,
  options: GatherOptions,
): Promise<SavedReceipt> {
  const { proof, agreed } = await proveAddress(record, options);
  const { payments, disputed, partial } = await findPayments(record, agreed, options).catch(
    (error) => {
      if (error instanceof ProofError) return { payments: [], disputed: true, partial: false };
      throw error;
    },
  );
  return {
    ...{ format: receiptFormat, record, proof, payments },
    ...((disputed || partial) && { paymentsDisputed: true }),
  };
}

/**
 * Verifies a receipt from any source.
 *
 * @param hashes the hashes of blocks that the caller knows to belong to the intent's chain. The
 *   string "its own" means the hashes in the receipt itself. In this case, you must check yourself
 *   that the receipt's blocks belong to the chain.
 * @throws {ProofError} `invalid_proof`; the message names the invalid part
 * @throws {InvalidError} with the faults of the record
 */
export function verifyReceipt(
  value: unknown,
  hashes: readonly Hex[] | "its own",
  options: ProofOptions = {},
): ProvedReceipt {
  const receipt = parseReceipt(value);
  const keccak = chooseKeccak(options);
  const trust = { factory: options.factory ?? factoryAddress, keccak };
  const record = verifyRecord(receipt.record, trust);
  const { chainId } = record.intent;
  const blocks = receiptBlocks(receipt);
  const known = hashes === "its own" ? blocks.map(({ hash }) => hash) : hashes;
  const trusted = known.map((hash) => ({ chainId, hash }));
  const proved = verifyAddressProof(record, receipt.proof, trusted, trust);
  const payments = receipt.payments.map(({ proof, ...claimed }) => {
    const block = trusted.find(({ hash }) => isSame(hash, claimed.block.hash));
    if (!block)
      throw invalidProof(
        `payments: expected the hash of a trusted block, found ${claimed.block.hash}`,
      );
    const { depth: _, ...found } = provePayment(record, proof, block, trust);
    // The message omits the incorrect values, because a reader could mistake them for facts.
    if (serialize(found) !== serialize(claimed)) {
      const wanted = `the proven values ${serialize(found).slice(0, 400)}`;
      throw invalidProof(`payments: expected ${wanted}, found different values`);
    }
    return found;
  });
  // A receipt must not list a payment twice, because a reader would count the amount twice.
  const twice = payments.find(
    ({ transactionHash: hash }, index) =>
      payments.findIndex((each) => each.transactionHash === hash) < index,
  );
  if (twice)
    throw invalidProof(
      `payments: expected each transaction once, found ${twice.transactionHash} twice`,
    );
  return { ...proved, record, payments, blocks };
}

/**
 * Checks the blocks of a receipt with the caller's nodes, and returns their hashes.
 *
 * @throws {ProofError} `no_quorum` if the nodes disagree on a block or report a different hash
 */
export async function agreeOnReceipt(
  value: unknown,
  { rpcs, ...options }: GatherOptions,
): Promise<Hex[]> {
  const { quorum } = parseAgreement(rpcs, options);
  const receipt = parseReceipt(value);
  // This call checks that the nodes serve the intent's chain.
  await blockHashOf(rpcs, { ...options, chainId: receipt.record.intent?.chainId });
  const checks = receiptBlocks(receipt).map(async ({ number, hash }) => {
    const { block, answers } = await agree(rpcs, number, quorum);
    if (block && isSame(block.hash, hash)) return block.hash;
    throw new ProofError(
      "no_quorum",
      `block ${number}: expected ${quorum} of ${rpcs.length} endpoints to have the hash ${hash}, ` +
        `found ${answers}`,
    );
  });
  return Promise.all(checks);
}

/** Lists the blocks of a receipt without duplicates. */
function receiptBlocks({ proof, payments }: SavedReceipt): BlockReference[] {
  const { execution, block } = proof;
  // If there are several headers, the last header is the block of the outcome.
  const isAlone = execution?.proof?.headers?.length === 1;
  const all = [block, ...(isAlone ? [execution.block] : []), ...payments.map((each) => each.block)];
  return all.filter(
    ({ hash }, index) => all.findIndex((each) => isSame(each.hash, hash)) === index,
  );
}

/** Serializes a value with sorted field names. */
const serialize = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

/**
 * Checks the fields of a receipt.
 * @throws {ProofError} `invalid_proof`
 */
function parseReceipt(value: unknown): SavedReceipt {
  const { format, record, proof, payments } = (value ?? {}) as Partial<SavedReceipt>;
  if (format !== receiptFormat)
    throw invalidProof(`format: expected ${receiptFormat}, found ${describeValue(format)}`);
  if (!record || !proof)
    throw invalidProof(
      `record and proof: expected objects, found ${describeType(record)} and ` +
        `${describeType(proof)}`,
    );
  const listed = parseList(payments, "payments", provedPaymentsMax, "payments") as PaymentProof[];
  const { block, execution } = proof;
  const blocks = [
    block,
    ...(execution ? [execution.block] : []),
    ...listed.map((each) => each?.block),
  ];
  for (const each of blocks)
    if (!isHash(each?.hash) || !Number.isSafeInteger(each.number)) {
      const found = `${describeValue(each?.number)} and ${describeValue(each?.hash)}`;
      throw invalidProof(`block: expected a number and a hash, found ${found}`);
    }
  return { format, record, proof, payments: listed };
}
