// The one hash of this library, as a parameter: a server may pass a WASM keccak, some ten times as
// fast as the default. WASM needs `wasm-unsafe-eval` under a strict CSP, so pages keep the default.

import { keccak_256 } from "@noble/hashes/sha3.js";

/** keccak-256 as Ethereum has it (not SHA3-256): any number of bytes to 32. Keeps no state. */
export type Keccak = (bytes: Uint8Array) => Uint8Array;

/** The default: plain JavaScript, from `@noble/hashes`. */
export const keccak256: Keccak = (bytes) => keccak_256(bytes);
