// What was worked out before: checksums and parsed functions, which most intents have in common.
// Kept per keccak, so that a wrong one passed by one caller spoils nothing for another; bounded in
// entries and in length of key, because the keys are other people's input.

import type { AbiFunction } from "./abi-type.ts";
import type { Hex } from "./intent.ts";
import type { Keccak } from "./keccak.ts";

/** An address as it was `given`, and its `text` in EIP-55 case. */
export type Address = { readonly given: string; readonly text: Hex };

export type Memory = {
  readonly keccak: Keccak;
  /** One to a slot, whichever came last: {@link slotOf}. */
  readonly addresses: (Address | undefined)[];
  /** 20 bytes for each slot that is taken. */
  readonly addressBytes: Uint8Array;
  /** By function text. */
  readonly functions: Map<string, AbiFunction>;
  /** The text, if any, by signature and names as terms carry them. */
  readonly carried: Map<string, string | undefined>;
};

const memories = new WeakMap<Keccak, Memory>();
const slots = 1024;
const entriesMax = 1024;
const keyLengthMax = 512;

export function memoryOf(keccak: Keccak): Memory {
  let memory = memories.get(keccak);
  if (!memory) {
    memory = {
      keccak,
      addresses: new Array(slots).fill(undefined),
      addressBytes: new Uint8Array(20 * slots),
      functions: new Map(),
      carried: new Map(),
    };
    memories.set(keccak, memory);
  }
  return memory;
}

/** Keeps `value`, in place of the oldest entry when the map is full. */
export function remember<V>(map: Map<string, V>, key: string, value: V): V {
  if (key.length > keyLengthMax) return value;
  if (map.size >= entriesMax) map.delete(map.keys().next().value!);
  map.set(key, value);
  return value;
}

/** Where an address is remembered, by its last digits: new addresses are too many for a map. */
export function slotOf(text: string): number {
  const { length } = text;
  const high = text.charCodeAt(length - 3) * 31 + text.charCodeAt(length - 4) * 961;
  return ((text.charCodeAt(length - 1) + text.charCodeAt(length - 2) * 7 + high) % slots) | 0;
}
