// Fixtures for tests of signers: a transaction, a keystore, and a local server that behaves like
// web3signer.

import assert from "node:assert/strict";
import { type Hex, hexToBigInt } from "viem";
import type { Signer, UnsignedTransaction } from "../../executor/pass.ts";
import { openSigner, remoteSigner } from "../../executor/transactions/signer.ts";
import { startNode } from "../chain/node.ts";

export const key: Hex = `0x${"4c".repeat(32)}`;
const otherKey: Hex = `0x${"5d".repeat(32)}`;
export const own = openSigner({ executorKey: key });
export const other = openSigner({ executorKey: otherKey });

export const wanted: UnsignedTransaction = {
  chainId: 8453,
  nonce: 7,
  to: "0x00000000000000000000000000000000beef0001",
  data: "0x1234",
  gas: 90_000,
  maxFee: 9_000_000_000n,
  priorityFee: 2n,
};

/**
 * The order `n` of the curve secp256k1. If a signature with `s` is valid, it is also valid with
 * `n - s`.
 */
export const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Returns a matcher for the error that a signer throws. */
export const refused = (message: RegExp) => ({ name: "SignerRefused", message });

/** {@link key}, encrypted with the password "open sesame" by another program (ox 0.14.45). */
export const keystore = {
  version: 3,
  id: "0fa4a4d9-55fb-4fb4-8bfb-8f469731d55d",
  crypto: {
    cipher: "aes-128-ctr",
    ciphertext: "98156e8c916c543a7e52bdc949f7d6db0e8a9b3b60aa9ed2d184da1c93efa8aa",
    cipherparams: { iv: "ee728fd20070af767b500d238c630ffd" },
    kdf: "scrypt",
    kdfparams: {
      dklen: 32,
      n: 1024,
      p: 1,
      r: 8,
      salt: "d503996ddca5d19d734fc8efb19f2815fbafa409206c850d2a5d09b3967a594c",
    },
    mac: "3b89f7f99cea289650a36e2a4ea7e36e08d66918052a8e006720a72e968e0f02",
  },
};

type Use = (signer: Signer) => Promise<void>;

/** Converts the parameters of a web3signer request to a transaction. */
export const asAsked = (asked: Record<string, Hex>): UnsignedTransaction => ({
  chainId: wanted.chainId,
  nonce: Number(asked.nonce),
  to: asked.to!,
  data: asked.data!,
  gas: Number(asked.gas),
  maxFee: hexToBigInt(asked.maxFeePerGas!),
  priorityFee: hexToBigInt(asked.maxPriorityFeePerGas!),
});

/**
 * Calls `use` with a remote signer for the key {@link own}. `answer` returns the result of each
 * request to the signer's server.
 *
 * @param timeoutMs by default long enough for a busy machine
 */
export async function withRemoteSigner(
  answer: (asked: Record<string, Hex>) => Promise<unknown>,
  use: Use,
  timeoutMs = 60_000,
) {
  const server = await startNode("", (method, params) => {
    assert.equal(method, "eth_signTransaction");
    return answer(params[0] as Record<string, Hex>);
  });
  const url = server.rpcUrl.replace("//", "//user:s3cret@");
  const signer = remoteSigner(url, own.address, timeoutMs);
  await use(signer).finally(server.stop);
}
