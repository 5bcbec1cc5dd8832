// Why nothing is proved: each reason is a code that a program can act on.

/**
 * - `invalid_proof`: what was given does not prove what it should, to this block's hash
 * - `wrong_chain`: the block is of another chain than the intent's
 * - `no_quorum`: too few endpoints agree on a block of the chain now
 * - `unproved`: no endpoint gave a proof that verifies, so nothing is known
 */
export type ProofErrorCode = "invalid_proof" | "wrong_chain" | "no_quorum" | "unproved";

/** Nothing is proved. None of the codes says anything about the address. */
export class ProofError extends Error {
  override readonly name = "ProofError";
  readonly code: ProofErrorCode;

  constructor(code: ProofErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

export const invalidProof = (message: string) => new ProofError("invalid_proof", message);
