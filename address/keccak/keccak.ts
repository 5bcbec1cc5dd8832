// The library's default hash function. A caller can pass another keccak. With a WASM keccak, a
// server derives records about four times as fast (test/derive.bench.ts, row "WASM / default"). In
// a page with a strict CSP, WASM needs `wasm-unsafe-eval`.

import { keccakP } from "@noble/hashes/sha3.js";
import { abytes } from "@noble/hashes/utils.js";

/** Hashes any number of bytes to 32 bytes with Ethereum's keccak-256 (not SHA3-256). Stateless. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

/**
 * The rate of the sponge: each permutation absorbs 136 bytes of input, as 32-bit little-endian
 * words.
 */
const rateWords = 34;

/**
 * Hashes with plain JavaScript. The permutation is from `@noble/hashes`. The sponge is implemented
 * here, because the sponge of `@noble/hashes` adds 1.1 kB (gzip) to each bundle.
 *
 * @throws {TypeError} for anything but a Uint8Array
 */
export const keccak256: Keccak = (bytes) => {
  abytes(bytes);
  state.fill(0);
  const whole = bytes.length & ~3;
  let word = 0;
  for (let at = 0; at < whole; at += 4) {
    state[word++]! ^=
      bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    if (word < rateWords) continue;
    keccakP(state);
    word = 0;
  }
  let last = 0x01;
  for (let at = bytes.length; at-- > whole; ) last = (last << 8) | bytes[at]!;
  state[word]! ^= last;
  state[rateWords - 1]! ^= 0x80000000;
  keccakP(state);
  const digest = new Uint8Array(32);
  for (let i = 0; i < 32; i++) digest[i] = state[i >> 2]! >>> (8 * (i & 3));
  return digest;
};

/**
 * Returns the keccak of `options`, or the default.
 * @throws {TypeError} if it is not a function
 */
export function chooseKeccak(options: { readonly keccak?: Keccak | undefined }): Keccak {
  const { keccak = keccak256 } = options;
  if (typeof keccak !== "function")
    throw new TypeError(`keccak: expected a function, found ${typeof keccak}`);
  return keccak;
}

// All hashes share this state, which is safe because a hash never runs during another hash.
const state = new Uint32Array(50);
