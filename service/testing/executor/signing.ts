// The tests of signers outside the process share a transaction to be signed, the curve's order and
// what a refusal looks like.

import type { UnsignedTransaction } from "../../executor/parts.ts";

export const wanted: UnsignedTransaction = {
  chainId: 8453,
  nonce: 7,
  to: "0x00000000000000000000000000000000beef0001",
  data: "0x1234",
  gas: 90_000,
  maxFee: 9_000_000_000n,
  priorityFee: 2n,
};

/** The order of secp256k1: for each `s` below it, the order less `s` signs too. */
export const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The error that a signer which refused rejects with. */
export const refused = (message: RegExp) => ({ name: "SignerRefused", message });
