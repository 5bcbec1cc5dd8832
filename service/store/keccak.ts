// Keccak-256 in WebAssembly, which the service passes to the library.

import type { Keccak } from "executable-address";
import { createKeccak } from "hash-wasm";

const hasher = await createKeccak(256);

/**
 * Computes Keccak-256 with a hasher that all callers share. Sharing is safe because each call is
 * synchronous and resets the hasher.
 */
export const keccak: Keccak = (bytes) => hasher.init().update(bytes).digest("binary");
