// Addresses as text: EIP-55, where the case of the letters is a checksum of the digits.

import { type Faults, kindOf, noFaults, type Path, quoted, refuse, throwFaults } from "./errors.ts";
import { digitPairs, writeHex } from "./hex.ts";
import type { Hex } from "./intent.ts";
import { type Keccak, keccak256 } from "./keccak.ts";
import { type Address, type Memory, memoryOf, slotOf } from "./memory.ts";

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
  const address = readAddress(faults, text, memoryOf(options.keccak ?? keccak256));
  throwFaults(faults);
  return address!.text;
}

/** EIP-55 text of 20 bytes. Source: https://eips.ethereum.org/EIPS/eip-55 */
export function formatAddress(bytes: Uint8Array, keccak: Keccak = keccak256): Hex {
  for (let i = 0; i < 20; i++) pairs[i + 1] = digitPairs[bytes[i]!]!;
  const hash = keccak(digits);
  for (let i = 0; i < 20; i++) {
    const bits = hash[i]!;
    if (bits & 0x80 && digits[2 * i]! >= lowerA) digits[2 * i]! -= caseDistance;
    if (bits & 0x08 && digits[2 * i + 1]! >= lowerA) digits[2 * i + 1]! -= caseDistance;
  }
  return ascii.decode(text) as Hex;
}
const lowerA = 97;
const caseDistance = 32;

// One piece of memory under three views: `0x` and 40 digits. Asking for it each time costs more
// than the hash.
const pairs = new Uint16Array(21);
const text = new Uint8Array(pairs.buffer);
const digits = text.subarray(2);
const ascii = new TextDecoder();
text.set([0x30, 0x78]);

/** The address `text` spells, or undefined and a fault. */
export function readAddress(faults: Faults, text: unknown, memory: Memory): Address | undefined {
  if (typeof text !== "string") {
    refuse(faults, "wrong_type", `expected an address as a string, found ${kindOf(text)}`);
    return undefined;
  }
  const slot = slotOf(text);
  const known = memory.addresses[slot];
  if (known?.given === text) return known;
  const bytes = new Uint8Array(20);
  if (text.length !== 42 || !text.startsWith("0x") || !writeHex(text, bytes, 0)) {
    refuse(faults, "malformed_address", "expected an address: 0x and 40 hex digits");
    return undefined;
  }
  const right = formatAddress(bytes, memory.keccak);
  if (text !== right && /[a-f]/.test(text) && /[A-F]/.test(text)) {
    const message = `the letters' case is no checksum; if the digits are right, write ${right}`;
    refuse(faults, "bad_checksum", `${message} (found ${quoted(text)})`);
    return undefined;
  }
  const address = { given: text, text: right, bytes };
  memory.addresses[slot] = address;
  return address;
}

/** Writes an address to the zeroed word at `at`. A loop is quicker than `set` for so few bytes. */
export function writeAddressWord(into: Uint8Array, at: number, { bytes }: Address): void {
  for (let i = 0; i < 20; i++) into[at + 12 + i] = bytes[i]!;
}
