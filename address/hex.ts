// Hex text and bytes. Letters of either case are read; lower case is written.

import { InvalidError, type Path } from "./errors.ts";
import type { Hex } from "./intent.ts";

const notHex = 0xff;
const nibbles = new Uint8Array(128).fill(notHex);
/** The two lower-case digits of each byte as they lie in memory, whichever end comes first. */
export const digitPairs = new Uint16Array(256);

const digitCodes = new Uint8Array(digitPairs.buffer);
for (let value = 0; value < 16; value++) {
  nibbles["0123456789abcdef".charCodeAt(value)] = value;
  nibbles["0123456789ABCDEF".charCodeAt(value)] = value;
}
for (let byte = 0; byte < 256; byte++) {
  const digits = byte.toString(16).padStart(2, "0");
  digitCodes[2 * byte] = digits.charCodeAt(0);
  digitCodes[2 * byte + 1] = digits.charCodeAt(1);
}

/** Text is made in one go from memory: joining strings is six times as slow for a kilobyte. */
const ascii = new TextDecoder();
const scratch = newPairs(2048);

function newPairs(bytes: number): Uint16Array<ArrayBuffer> {
  const pairs = new Uint16Array(bytes + 1);
  new Uint8Array(pairs.buffer).set([0x30, 0x78]);
  return pairs;
}

/** `0x` and two lower-case digits a byte. */
export function toHex(bytes: Uint8Array): Hex {
  const pairs = bytes.length < scratch.length ? scratch : newPairs(bytes.length);
  for (let i = 0; i < bytes.length; i++) pairs[i + 1] = digitPairs[bytes[i]!]!;
  return ascii.decode(pairs.subarray(0, bytes.length + 1)) as Hex;
}

/**
 * @param text `0x` and an even number of digits, in any letter case
 * @param path where the text stood, for the issue
 * @throws {InvalidError} `malformed_hex`
 */
export function fromHex(text: unknown, path: Path = []): Uint8Array {
  const count = typeof text === "string" ? hexBytes(text) : -1;
  const bytes = new Uint8Array(Math.max(count, 0));
  if (count < 0 || !writeHex(text as string, bytes, 0)) {
    const message = "expected 0x and an even number of hex digits";
    throw new InvalidError([{ path, code: "malformed_hex", message }]);
  }
  return bytes;
}

/** How many bytes `text` would spell, or -1 if it lacks `0x` or half a byte. */
export function hexBytes(text: string): number {
  return text.startsWith("0x") && text.length % 2 === 0 ? text.length / 2 - 1 : -1;
}

/** Writes what follows `0x` to `into` from `at`. False, rubbish written, if a digit is none. */
export function writeHex(text: string, into: Uint8Array, at: number): boolean {
  let bad = 0;
  for (let i = 2, to = at; i < text.length; i += 2, to++) {
    const high = nibbles[text.charCodeAt(i)] ?? notHex;
    const low = nibbles[text.charCodeAt(i + 1)] ?? notHex;
    bad |= high | low;
    into[to] = (high << 4) | low;
  }
  return bad < 16;
}
