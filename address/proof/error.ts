// The errors of proofs. The error code determines how a program can react.

/**
 * - `invalid_proof`: the proof is invalid for this block hash.
 * - `wrong_chain`: the block does not belong to the intent's chain.
 * - `no_quorum`: too few endpoints agree on a block.
 * - `unproved`: no endpoint provided a valid proof, so nothing is known.
 */
export type ProofErrorCode = "invalid_proof" | "wrong_chain" | "no_quorum" | "unproved";

/** Nothing is proved. Regardless of its code, this error says nothing about the address. */
export class ProofError extends Error {
  override readonly name = "ProofError";
  readonly code: ProofErrorCode;

  constructor(code: ProofErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Returns whether the error is a {@link ProofError} that another node cannot resolve. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ProofError && !/^(invalid_proof|unproved)$/.test(error.code);

export const invalidProof = (message: string) => new ProofError("invalid_proof", message);
