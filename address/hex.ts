// Hex text and bytes. Letters of either case are read; lower case is written.

import { InvalidError, type Path } from "./errors.ts";
import type { Hex } from "./intent.ts";

const notHex = 0xff;
const nibbles = new Uint8Array(128).fill(notHex);
const pairs: string[] = [];
const digits = new TextEncoder().encode("0123456789abcdef");
for (let value = 0; value < 16; value++) {
  nibbles["0123456789abcdef".charCodeAt(value)] = value;
  nibbles["0123456789ABCDEF".charCodeAt(value)] = value;
}
for (let byte = 0; byte < 256; byte++) pairs.push(byte.toString(16).padStart(2, "0"));

/** Up to this many bytes, joining strings is quicker than a TextDecoder. */
const joinedBytesMax = 64;
const ascii = new TextDecoder();

/** `0x` and two lower-case digits a byte. */
export function toHex(bytes: Uint8Array): Hex {
  let text = "0x";
  if (bytes.length <= joinedBytesMax) {
    for (const byte of bytes) text += pairs[byte];
    return text as Hex;
  }
  const codes = new Uint8Array(bytes.length * 2);
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    codes[2 * i] = digits[byte >> 4]!;
    codes[2 * i + 1] = digits[byte & 15]!;
  }
  text += ascii.decode(codes);
  return text as Hex;
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

/** Writes what follows `0x` to `into` from `at`. False, with rubbish written, if a digit is none. */
export function writeHex(text: string, into: Uint8Array, at: number): boolean {
  let bad = 0;
  for (let i = 2; i < text.length; i += 2) {
    const high = nibbles[text.charCodeAt(i)] ?? notHex;
    const low = nibbles[text.charCodeAt(i + 1)] ?? notHex;
    bad |= high | low;
    into[at++] = (high << 4) | low;
  }
  return bad < 16;
}
