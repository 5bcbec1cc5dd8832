// The one hash of this library, as a parameter: a server may pass a WASM keccak, which is faster
// (test/derive.bench.ts). WASM needs `wasm-unsafe-eval` under a strict CSP: pages keep the default.

import { keccakP } from "@noble/hashes/sha3.js";
import { abytes } from "@noble/hashes/utils.js";

/** keccak-256 as Ethereum has it (not SHA3-256): any number of bytes to 32. Keeps no state. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

/** Words of the state that take input: 136 bytes, low end first. */
const rateWords = 34;

/**
 * The default: plain JavaScript. The permutation is that of `@noble/hashes`; the sponge around it
 * is our own, because noble's adds 1.1 kB (gzip) to each bundle that test/package.test.ts pins.
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

/** The keccak of `options`, or the default. @throws {TypeError} for what is no function */
export function chooseKeccak(options: { readonly keccak?: Keccak | undefined }): Keccak {
  const { keccak = keccak256 } = options;
  if (typeof keccak !== "function") throw new TypeError("keccak: expected a function");
  return keccak;
}

// Written anew by each hash; nothing that runs within one can call another.
const state = new Uint32Array(50);
