// The complete proof of an address in one object. The service and receipts use this format
// (spec/proof.md).

import { type Hex, isHash, isSame } from "../abi/hex.ts";
import { describeType, describeValue } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import type { BlockReference } from "../status/shape.ts";
import { invalidProof } from "./error.ts";
import { type ProvedExecution, proveExecution, type TransactionProof } from "./execution.ts";
import {
  type Outcome,
  type OutcomeProof,
  type ProofOptions,
  proveOutcome,
  type TrustedBlock,
} from "./outcome.ts";

/**
 * A proof and its result in a format that people can read. A verifier checks that the proof has
 * this result. `execution` is null unless the outcome is `executed`.
 */
export type AddressProof = {
  readonly chainId: number;
  readonly outcome: Outcome["outcome"];
  readonly block: BlockReference;
  readonly proof: OutcomeProof;
  readonly execution: ExecutionPart | null;
};

type ExecutionPart = {
  readonly transactionHash: Hex;
  readonly held: string;
  readonly left: string;
  readonly block: BlockReference;
  readonly proof: TransactionProof;
};

export type ProvedAddress = Outcome & { readonly execution: ProvedExecution | null };

/**
 * Verifies a proof and its claimed result.
 *
 * @param trusted the blocks of the outcome and the execution, on the intent's chain
 * @throws {ProofError} the errors of `proveOutcome`; `invalid_proof` if the claimed result differs
 *   from the proven result
 * @throws {InvalidError} with the faults of the record
 */
export function verifyAddressProof(
  record: AddressRecord,
  proof: AddressProof,
  trusted: readonly TrustedBlock[],
  options: ProofOptions = {},
): ProvedAddress {
  const find = (claimed: unknown): TrustedBlock => {
    const hash = (claimed as BlockReference | null | undefined)?.hash;
    const block = isHash(hash) && trusted.find((each) => isSame(each.hash, hash));
    if (block) return block;
    const what = isHash(hash) ? hash : describeType(hash);
    throw invalidProof(`block: expected the hash of a trusted block, found ${what}`);
  };
  const found = proveOutcome(record, proof?.proof, find(proof?.block), options);
  compare("block", proof.block, found.block);
  compare("outcome", proof.outcome, found.outcome);
  compare("chainId", proof.chainId, record.intent.chainId);
  const kind = describeType(proof.execution);
  const wanted = found.outcome === "executed" ? "an object" : "null";
  if (kind !== wanted)
    throw invalidProof(
      `execution: expected ${wanted} for the outcome ${found.outcome}, found ${kind}`,
    );
  if (proof.execution === null) return { ...found, execution: null };
  const { proof: evidence, ...claimed } = proof.execution;
  const top = evidence?.headers?.length > 1 ? proof.block : claimed.block;
  const execution = proveExecution(record, evidence, find(top), options);
  for (const name of ["transactionHash", "held", "left", "block"] as const)
    compare(`execution.${name}`, claimed[name], execution[name]);
  return { ...found, execution };
}

/** Compares texts, numbers, and blocks. The order of a block's fields does not matter. */
function compare(what: string, claimed: unknown, found: unknown): void {
  if (typeof found === "object" && found !== null) {
    const fields = claimed as Record<string, unknown> | null | undefined;
    for (const [name, value] of Object.entries(found))
      compare(`${what}.${name}`, fields?.[name], value);
  } else if (claimed !== found) {
    // A page shows this message when it rejects a receipt. The message does not quote the wrong
    // value, because a reader could mistake the value for a fact.
    throw invalidProof(
      `${what}: expected the proven value ${describeValue(found)}, found a different value`,
    );
  }
}
