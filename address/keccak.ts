// The one hash of this library, as a parameter: a server may pass a WASM keccak, some ten times as
// fast as the default. WASM needs `wasm-unsafe-eval` under a strict CSP, so pages keep the default.

import { keccakP } from "@noble/hashes/sha3.js";
import { abytes } from "@noble/hashes/utils.js";

/** keccak-256 as Ethereum has it (not SHA3-256): any number of bytes to 32. Keeps no state. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

const blockBytes = 136;

/**
 * The default: plain JavaScript. The permutation is that of `@noble/hashes`; the sponge around it
 * is written for hashes of a block or a few, where asking for memory each time costs a fifth.
 *
 * @throws {TypeError} for anything but a Uint8Array
 */
export const keccak256: Keccak = (bytes) => {
  abytes(bytes);
  state.fill(0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const rest = bytes.length % blockBytes;
  const whole = bytes.length - rest;
  for (let at = 0; at < whole; at += blockBytes) absorb(view, at);
  lastBlock.fill(0);
  for (let i = 0; i < rest; i++) lastBlock[i] = bytes[whole + i]!;
  lastBlock[rest] = 0x01;
  lastBlock[blockBytes - 1]! |= 0x80;
  absorb(lastView, 0);
  const digest = new Uint8Array(32);
  for (let i = 0; i < 32; i++) digest[i] = state[i >> 2]! >>> (8 * (i & 3));
  return digest;
};

// Written anew by each hash; nothing that runs within one can call another.
const state = new Uint32Array(50);
const lastBlock = new Uint8Array(blockBytes);
const lastView = new DataView(lastBlock.buffer);

/** Lanes begin with their low end, on any machine. */
function absorb(view: DataView, at: number): void {
  for (let i = 0; i < blockBytes / 4; i++) state[i]! ^= view.getUint32(at + 4 * i, true);
  keccakP(state);
}
