// Keccak-256 in WebAssembly: some ten times as fast as the library's own, which stays in JavaScript
// because pages under a strict CSP may not compile WebAssembly.

import { createKeccak } from "hash-wasm";

/** One hasher serves all: nothing runs between its steps. */
export async function createWasmKeccak(): Promise<(bytes: Uint8Array) => Uint8Array> {
  const hasher = await createKeccak(256);
  return (bytes) => hasher.init().update(bytes).digest("binary");
}
