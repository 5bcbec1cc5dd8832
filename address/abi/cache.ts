// Caches address checksums and parsed functions, because many intents share them. Each keccak
// implementation has its own cache. If a caller's keccak returns wrong hashes, the results of other
// callers are still correct. The keys come from untrusted input, so their number and length are
// limited.
//
// The decoder looks up entries by their bytes, so it creates no text for cached entries. With
// cached addresses and functions, two calls are decoded at least three times as fast
// (test/derive.bench.ts).

import type { Keccak } from "../keccak/keccak.ts";
import type { Hex } from "./hex.ts";
import type { AbiType } from "./type.ts";

/** A parsed function string. All text fields are ASCII. */
export type AbiFunction = {
  /** The function's text, as in the intent: `approve(address spender, uint256 amount)`. */
  readonly text: string;
  /** `approve(address,uint256)` */
  readonly signature: string;
  /** The parameter names: `spender,amount`. A tuple is `(to,amount)payments`. */
  readonly names: string;
  readonly signatureBytes: Uint8Array;
  readonly namesBytes: Uint8Array;
  /** The first 4 bytes of the signature's keccak-256 hash, as lowercase hex. */
  readonly selector: Hex;
  readonly parameters: readonly AbiType[];
  /** The total size in bytes of the parameters' heads in the ABI encoding. */
  readonly headBytes: number;
};

/**
 * The same address twice: as written in the input (`given`), and with its EIP-55 checksum (`text`).
 */
type Address = { readonly given: string; readonly text: Hex };

export type Cache = {
  readonly keccak: Keccak;
  /**
   * The most recent address in each slot. {@link slotOfText} and {@link slotOfBytes} choose the
   * slot.
   */
  readonly addresses: (Address | undefined)[];
  /** The 20 bytes of the address in each used slot. */
  readonly addressBytes: Uint8Array;
  /** Maps the `text` of each cached function to the function. */
  readonly functions: Map<string, AbiFunction>;
  /**
   * Maps each slot ({@link slotOfSignature}) to its most recent function. Contains only functions
   * that are also in `functions`.
   */
  readonly carried: (AbiFunction | undefined)[];
};

const caches = new WeakMap<Keccak, Cache>();
const slots = 1024;
const entriesMax = 1024;
const keyLengthMax = 512;

export function getCache(keccak: Keccak): Cache {
  let cache = caches.get(keccak);
  if (!cache) {
    cache = {
      keccak,
      addresses: new Array(slots).fill(undefined),
      addressBytes: new Uint8Array(20 * slots),
      functions: new Map(),
      carried: new Array(slots).fill(undefined),
    };
    caches.set(keccak, cache);
  }
  return cache;
}

/** Stores `value` and returns it. Replaces the oldest entry if the map is full. */
export function remember<V>(map: Map<string, V>, key: string, value: V): V {
  if (key.length > keyLengthMax) return value;
  if (map.size >= entriesMax) map.delete(map.keys().next().value!);
  map.set(key, value);
  return value;
}

/**
 * Returns the cache slot of an address, which depends on its last three hex digits. The cache has
 * fixed slots instead of a map, because most addresses occur only once.
 */
export function slotOfText(text: string): number {
  const last = text.length - 1;
  const high = (digitAt(text, last - 2) << 8) | (digitAt(text, last - 1) << 4);
  return (high | digitAt(text, last)) % slots;
}

/** Returns the cache slot of the address whose 20 bytes begin at `at`. */
export function slotOfBytes(bytes: Uint8Array, at: number): number {
  return ((bytes[at + 18]! << 8) | bytes[at + 19]!) % slots;
}

/**
 * Returns the value of a hex digit in uppercase or lowercase. For any other character, returns an
 * arbitrary small number.
 */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return (code & 0x0f) + 9 * ((code >> 6) & 1);
}

/**
 * Returns the cache slot of a function by its signature. Functions that differ only in their
 * parameter names share a slot.
 */
export function slotOfSignature(signature: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < signature.length; i++) sum = (31 * sum + signature[i]!) | 0;
  return (sum >>> 0) % slots;
}
