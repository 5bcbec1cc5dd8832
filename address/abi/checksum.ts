// Addresses as text: EIP-55, where the case of the letters is a checksum of the digits.

import {
  addFault,
  type Faults,
  InvalidError,
  kindOf,
  noFaults,
  type Path,
  quoted,
  throwFaults,
} from "../errors.ts";
import type { Hex } from "../hex.ts";
import { type Keccak, keccak256, keccakOf } from "../keccak/keccak.ts";
import { type Cache, cacheOf, slotOfBytes, slotOfText } from "./cache.ts";
import { type Bytes, digitsText, newDigits, parseBytes, writeDigits, writeHex } from "./hex.ts";

/**
 * Reads an address: `0x` and 40 hex digits. Letters all of one case carry no checksum and pass;
 * mixed letters must be right by EIP-55.
 *
 * @param options.path where the text stood, for the issue
 * @returns the same address in EIP-55 case
 * @throws {InvalidError} `wrong_type`, `malformed_address` or `bad_checksum`
 */
export function parseAddress(text: unknown, options: { path?: Path; keccak?: Keccak } = {}): Hex {
  const faults = noFaults(options.path);
  const address = writeAddress(faults, text, cacheOf(keccakOf(options)), spare, 0);
  throwFaults(faults);
  return address!;
}
/** An address is written here where the caller does not want its bytes. */
const spare = new Uint8Array(32);

/** Whether it spells 20 bytes, in digits of either case. No checksum is compared. */
export const isAddress = (value: unknown): value is Hex =>
  typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);

/**
 * EIP-55 text of 20 bytes. Source: https://eips.ethereum.org/EIPS/eip-55
 *
 * The bit 0x40 is set in letters and not in digits; 0x20 is the case of a letter.
 *
 * @throws {InvalidError} `wrong_length`, or as {@link parseBytes}
 */
export function formatAddress(value: Bytes, keccak: Keccak = keccak256): Hex {
  const bytes = parseBytes(value);
  if (bytes.length !== 20) {
    const message = `expected 20 bytes, found ${bytes.length}`;
    throw new InvalidError([{ path: [], code: "wrong_length", message }]);
  }
  writeDigits(digits, bytes);
  const hash = keccak(letters);
  for (let i = 0; i < 20; i++) {
    const bits = hash[i]!;
    letters[2 * i]! ^= (bits >> 2) & (letters[2 * i]! >> 1) & 0x20;
    letters[2 * i + 1]! ^= (bits << 2) & (letters[2 * i + 1]! >> 1) & 0x20;
  }
  return digitsText(digits, 20);
}

// They are kept from call to call: test/derive.bench.ts (WASM) loses a tenth without them.
const digits = newDigits(20);
const letters = digits.text.subarray(2);

/**
 * Writes the address that `text` spells to the zeroed word at `at`, and gives it in EIP-55 case; or
 * undefined and a fault, with rubbish written.
 */
export function writeAddress(
  faults: Faults,
  text: unknown,
  cache: Cache,
  into: Uint8Array,
  at: number,
): Hex | undefined {
  if (typeof text !== "string") {
    addFault(faults, "wrong_type", `expected an address as a string, found ${kindOf(text)}`);
    return undefined;
  }
  const { addresses, addressBytes } = cache;
  const slot = slotOfText(text);
  const known = addresses[slot];
  if (known?.given === text) {
    into.set(addressBytes.subarray(20 * slot, 20 * slot + 20), at + 12);
    return known.text;
  }
  if (text.length !== 42 || !text.startsWith("0x") || !writeHex(text, into, at + 12)) {
    addFault(faults, "malformed_address", "expected an address: 0x and 40 hex digits");
    return undefined;
  }
  const right = formatAddress(into.subarray(at + 12, at + 32), cache.keccak);
  if (text !== right && /[a-f]/.test(text) && /[A-F]/.test(text)) {
    const message = `the letters' case is no checksum; if the digits are right, write ${right}`;
    addFault(faults, "bad_checksum", `${message} (found ${quoted(text)})`);
    return undefined;
  }
  addresses[slot] = { given: text, text: right };
  addressBytes.set(into.subarray(at + 12, at + 32), 20 * slot);
  return right;
}

/** The address in the word at `at`, in EIP-55 case, or undefined where the word is none. */
export function readAddress(cache: Cache, bytes: Uint8Array, at: number): Hex | undefined {
  let above = 0;
  for (let i = 0; i < 12; i++) above |= bytes[at + i]!;
  if (above !== 0) return undefined;
  const { addresses, addressBytes } = cache;
  const slot = slotOfBytes(bytes, at + 12);
  const known = addresses[slot];
  let different = 0;
  for (let i = 0; i < 20; i++) different |= addressBytes[20 * slot + i]! ^ bytes[at + 12 + i]!;
  if (known && different === 0) return known.text;
  const text = formatAddress(bytes.subarray(at + 12, at + 32), cache.keccak);
  addresses[slot] = { given: text, text };
  addressBytes.set(bytes.subarray(at + 12, at + 32), 20 * slot);
  return text;
}
