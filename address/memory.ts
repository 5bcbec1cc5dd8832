// What was worked out before: checksums and parsed functions, which most intents have in common.
// Kept per keccak, so that a wrong one passed by one caller spoils nothing for another; bounded in
// entries and in length of key, because the keys are other people's input.

import type { Address } from "./checksum.ts";
import type { AbiFunction } from "./function.ts";
import type { Keccak } from "./keccak.ts";

export type Memory = {
  readonly keccak: Keccak;
  /** By the text as it was given, in whatever letter case. */
  readonly addresses: Map<string, Address>;
  /** By function text. */
  readonly functions: Map<string, AbiFunction>;
  /** The text, if any, by signature and names as terms carry them. */
  readonly carried: Map<string, string | undefined>;
};

const memories = new WeakMap<Keccak, Memory>();
const entriesMax = 1024;
const keyLengthMax = 512;

export function memoryOf(keccak: Keccak): Memory {
  let memory = memories.get(keccak);
  if (!memory) {
    memory = { keccak, addresses: new Map(), functions: new Map(), carried: new Map() };
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
