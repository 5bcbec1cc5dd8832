// Addresses as text. In EIP-55, the case of the letters is a checksum of the digits.

import {
  addFault,
  describeType,
  type Faults,
  InvalidError,
  noFaults,
  type Path,
  quoted,
  throwFaults,
} from "../errors.ts";
import { chooseKeccak, type Keccak, keccak256 } from "../keccak/keccak.ts";
import { type Cache, getCache, slotOfBytes, slotOfText } from "./cache.ts";
import {
  type Bytes,
  digitsText,
  type Hex,
  newDigits,
  parseBytes,
  writeDigits,
  writeHex,
} from "./hex.ts";

/**
 * Parses an address: `0x` followed by 40 hex digits. Mixed case must match EIP-55. Text in only
 * uppercase or only lowercase has no checksum and is valid.
 *
 * @param options.path the position of the text in the input, for the error
 * @returns the same address in EIP-55 case
 * @throws {InvalidError} `wrong_type`, `malformed_address` or `bad_checksum`
 */
export function parseAddress(text: unknown, options: { path?: Path; keccak?: Keccak } = {}): Hex {
  const faults = noFaults(options.path);
  const address = writeAddress(faults, text, getCache(chooseKeccak(options)), spare, 0);
  throwFaults(faults);
  return address!;
}
/** A buffer for callers that need only the address's text and not its bytes. */
const spare = new Uint8Array(32);

/**
 * Returns whether `value` is 20 bytes as hex, in uppercase or lowercase. Does not check the
 * checksum.
 */
export const isAddress = (value: unknown): value is Hex =>
  typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);

/**
 * Formats 20 bytes as EIP-55 text.
 *
 * In ASCII, letters have the bit 0x40 and digits do not. The bit 0x20 distinguishes lowercase
 * letters from uppercase letters.
 *
 * @see https://eips.ethereum.org/EIPS/eip-55
 * @throws {InvalidError} `wrong_length`, or an error of {@link parseBytes}
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

// All calls reuse these buffers. With new buffers, deriving the record of two calls takes about 11%
// longer (test/derive.bench.ts, row "WASM, new buffers in abi/checksum.js").
const digits = newDigits(20);
const letters = digits.text.subarray(2);

/**
 * Parses `text` and returns the address with its EIP-55 checksum. Also writes the address to the
 * 32-byte word at offset `at`. This word must be zero before the call. If `text` is invalid, adds a
 * fault, may overwrite part of the word, and returns undefined.
 */
export function writeAddress(
  faults: Faults,
  text: unknown,
  cache: Cache,
  into: Uint8Array,
  at: number,
): Hex | undefined {
  if (typeof text !== "string") {
    addFault(faults, "wrong_type", `expected an address as a string, found ${describeType(text)}`);
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
    const found = quoted(text) ?? "other text";
    const message = `expected an address: 0x and 40 hex digits, found ${found}`;
    addFault(faults, "malformed_address", message);
    return undefined;
  }
  const right = formatAddress(into.subarray(at + 12, at + 32), cache.keccak);
  if (text !== right && /[a-f]/.test(text) && /[A-F]/.test(text)) {
    const message = `expected a checksummed address, found ${quoted(text)} (wrong checksum)`;
    addFault(faults, "bad_checksum", `${message}: if the digits are right, write ${right}`);
    return undefined;
  }
  addresses[slot] = { given: text, text: right };
  addressBytes.set(into.subarray(at + 12, at + 32), 20 * slot);
  return right;
}

/**
 * Reads the word at offset `at` as an address in EIP-55 case. Returns undefined if the word is not
 * an address.
 */
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
