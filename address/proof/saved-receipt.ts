// The receipt that a person keeps: the record, the proof of what became of it and of who paid. It
// is verified by the hashes of its blocks and nothing else, so it is as good in ten years as today.

import { type Hex, isHash, isSame } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeType, describeValue } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { verifyRecord } from "../record.ts";
import type { BlockReference } from "../status/shape.ts";
import { type AddressProof, type ProvedAddress, verifyAddressProof } from "./address-proof.ts";
import { agree, blockHashOf, parseAgreement } from "./agree.ts";
import { invalidProof, ProofError } from "./error.ts";
import { provePayment } from "./execution.ts";
import { type GatherOptions, proveAddress } from "./gather.ts";
import type { ProofOptions } from "./outcome.ts";
import { findPayments, type PaymentProof, paymentsMax } from "./payments.ts";

export const receiptFormat = "executable-address-receipt/1";

/** spec/proof.md, 2. */
export type SavedReceipt = {
  readonly format: typeof receiptFormat;
  readonly record: AddressRecord;
  readonly proof: AddressProof;
  readonly payments: readonly PaymentProof[];
  /** The nodes did not report the same payments when the receipt was made: some may be missing. */
  readonly paymentsDisputed?: true;
};

/**
 * An outcome that rests on `blocks`, which are to be compared with a chain's. Nothing is proved
 * unless each is of the chain `record.intent.chainId`.
 */
export type ProvedReceipt = ProvedAddress & {
  readonly record: AddressRecord;
  readonly payments: readonly Omit<PaymentProof, "proof">[];
  readonly blocks: readonly BlockReference[];
};

/**
 * Makes the receipt of `record` by nodes of its chain. If no node gives its logs, the receipt lists
 * no payments and is marked `paymentsDisputed`, as it is if the nodes report different payments.
 *
 * @throws {ProofError} as `proveAddress`
 */
export async function makeReceipt(
  record: AddressRecord,
  options: GatherOptions,
): Promise<SavedReceipt> {
  const { proof, agreed } = await proveAddress(record, options);
  const { payments, disputed } = await findPayments(record, agreed, options).catch((error) => {
    if (error instanceof ProofError) return { payments: [], disputed: true };
    throw error;
  });
  return {
    ...{ format: receiptFormat, record, proof, payments },
    ...(disputed && { paymentsDisputed: true }),
  };
}

/**
 * Verifies `value`, which anybody may have made.
 *
 * @param hashes of the blocks that the caller trusts to be of the intent's chain; "its own" finds
 *   only that the receipt is right if its blocks are, which are then to be compared by other means
 * @throws {ProofError} `invalid_proof`, with the part that is wrong
 * @throws {InvalidError} with the faults of the record
 */
export function verifyReceipt(
  value: unknown,
  hashes: readonly Hex[] | "its own",
  options: ProofOptions = {},
): ProvedReceipt {
  const receipt = shapeOf(value);
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
    if (!block) throw invalidProof(`payments: ${claimed.block.hash} is not a trusted block`);
    const { depth: _, ...found } = provePayment(record, proof, block, trust);
    if (canonical(found) !== canonical(claimed))
      throw invalidProof(`payments: the proof shows ${canonical(found).slice(0, 400)}`);
    return found;
  });
  // A payment that stood there twice would be counted twice by whoever adds them up.
  const twice = payments.find(
    ({ transactionHash: hash }, index) =>
      payments.findIndex((each) => each.transactionHash === hash) < index,
  );
  if (twice) throw invalidProof(`payments: ${twice.transactionHash} is named twice`);
  return { ...proved, record, payments, blocks };
}

/**
 * The hashes of those blocks of a receipt that nodes of the caller's agree on.
 *
 * @throws {ProofError} `no_quorum` where they do not know one of them, or know another
 */
export async function agreeOnReceipt(
  value: unknown,
  { rpcs, ...options }: GatherOptions,
): Promise<Hex[]> {
  const { quorum } = parseAgreement(rpcs, options);
  const receipt = shapeOf(value);
  // That the nodes are of the chain: their newest block is asked for with it.
  await blockHashOf(rpcs, { ...options, chainId: receipt.record.intent?.chainId });
  const asked = receiptBlocks(receipt).map(async ({ number, hash }) => {
    const found = await agree(rpcs, number, quorum);
    if (found && isSame(found.hash, hash)) return found.hash;
    const what = found ? `have ${found.hash}` : "agree on none";
    throw new ProofError("no_quorum", `block ${number} is ${hash} here, and the nodes ${what}`);
  });
  return Promise.all(asked);
}

/** The blocks that a receipt names, each once. */
function receiptBlocks({ proof, payments }: SavedReceipt): BlockReference[] {
  const { execution, block } = proof;
  // More headers than one lead from its block up to the outcome's.
  const isAlone = execution?.proof?.headers?.length === 1;
  const all = [block, ...(isAlone ? [execution.block] : []), ...payments.map((each) => each.block)];
  return all.filter(
    ({ hash }, index) => all.findIndex((each) => isSame(each.hash, hash)) === index,
  );
}

/** Text that is the same for the same value: names in order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

/** @throws {ProofError} `invalid_proof` unless it is laid out as a receipt */
function shapeOf(value: unknown): SavedReceipt {
  const { format, record, proof, payments } = (value ?? {}) as Partial<SavedReceipt>;
  if (format !== receiptFormat)
    throw invalidProof(`format: expected ${receiptFormat}, found ${describeValue(format)}`);
  if (!record || !proof)
    throw invalidProof(
      `expected record and proof, found ${describeType(record)} and ${describeType(proof)}`,
    );
  if (!Array.isArray(payments) || payments.length > paymentsMax)
    throw invalidProof(`payments: expected a list of at most ${paymentsMax}`);
  const { block, execution } = proof;
  const blocks = [block, ...(execution ? [execution.block] : []), ...payments.map((p) => p?.block)];
  for (const each of blocks)
    if (!isHash(each?.hash) || !Number.isSafeInteger(each.number)) {
      const found = `${describeValue(each?.number)} and ${describeValue(each?.hash)}`;
      throw invalidProof(`block: expected a number and a hash, found ${found}`);
    }
  return { format, record, proof, payments };
}
