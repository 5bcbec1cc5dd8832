// A cache of checksums and parsed functions, which many intents share. One for each keccak, so that
// a wrong keccak of one caller affects no other; bounded in entries and in length of key, because
// strangers choose the keys.
//
// Addresses lie in slots, found by their text and by their bytes alike, and functions are found by
// the bytes that terms carry, so that what is decoded need not become text to be found. Terms of
// two calls are decoded at least three times as fast where addresses and functions recur as where
// none does: test/derive.bench.ts tells it.

import type { Hex } from "../hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import type { AbiFunction } from "./type.ts";

/** An address as it was `given`, and its `text` in EIP-55 case. */
type Address = { readonly given: string; readonly text: Hex };

export type Cache = {
  readonly keccak: Keccak;
  /** One to a slot, whichever came last: {@link slotOfText} and {@link slotOfBytes}. */
  readonly addresses: (Address | undefined)[];
  /** 20 bytes for each slot that is taken. */
  readonly addressBytes: Uint8Array;
  /** By function text. */
  readonly functions: Map<string, AbiFunction>;
  /** Some of the functions that are remembered by text, one to a slot: {@link slotOfSignature}. */
  readonly carried: (AbiFunction | undefined)[];
};

const caches = new WeakMap<Keccak, Cache>();
const slots = 1024;
const entriesMax = 1024;
const keyLengthMax = 512;

export function cacheOf(keccak: Keccak): Cache {
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

/** Keeps `value`, in place of the oldest entry when the map is full. */
export function remember<V>(map: Map<string, V>, key: string, value: V): V {
  if (key.length > keyLengthMax) return value;
  if (map.size >= entriesMax) map.delete(map.keys().next().value!);
  map.set(key, value);
  return value;
}

/** The slot of an address, by its last three digits: new addresses are too many for a map. */
export function slotOfText(text: string): number {
  const last = text.length - 1;
  const high = (digitAt(text, last - 2) << 8) | (digitAt(text, last - 1) << 4);
  return (high | digitAt(text, last)) % slots;
}

/** The same of its 20 bytes from `at`. */
export function slotOfBytes(bytes: Uint8Array, at: number): number {
  return ((bytes[at + 18]! << 8) | bytes[at + 19]!) % slots;
}

/** The value of a hex digit in either case; of anything else any small number. */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return (code & 0x0f) + 9 * ((code >> 6) & 1);
}

/** The slot of all functions with this signature, whatever the names of their parameters. */
export function slotOfSignature(signature: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < signature.length; i++) sum = (31 * sum + signature[i]!) | 0;
  return (sum >>> 0) % slots;
}
