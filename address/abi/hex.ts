// Hex text and bytes. Letters of either case are read; lower case is written, by tables of words:
// terms are most of a record.

import { InvalidError, kindOf, type Path } from "../errors.ts";
import type { Hex } from "../hex.ts";
import { termsBytesMax } from "./type.ts";

const notHex = 0xff;
const nibbles = new Uint8Array(128).fill(notHex);
for (let value = 0; value < 16; value++) {
  nibbles["0123456789abcdef".charCodeAt(value)] = value;
  nibbles["0123456789ABCDEF".charCodeAt(value)] = value;
}

/** The two digits of each byte as they lie in the first or the last half of a word in memory. */
const firstPairs = new Uint32Array(256);
const lastPairs = new Uint32Array(256);
for (let byte = 0; byte < 256; byte++) {
  const digits = byte.toString(16).padStart(2, "0");
  const codes = [digits.charCodeAt(0), digits.charCodeAt(1)];
  new Uint8Array(firstPairs.buffer).set(codes, 4 * byte);
  new Uint8Array(lastPairs.buffer).set(codes, 4 * byte + 2);
}

/** Memory for `0x` and digits, under two views: `words` begins with the digits. */
type Digits = { readonly text: Uint8Array; readonly words: Uint32Array };

export function newDigits(bytes: number): Digits {
  const memory = new ArrayBuffer(4 + 4 * Math.ceil(bytes / 2));
  const text = new Uint8Array(memory, 2);
  text.set([0x30, 0x78]);
  return { text, words: new Uint32Array(memory, 4) };
}

/** Writes two lower-case digits for each of `bytes`: two bytes at a time. */
export function writeDigits(into: Digits, bytes: Uint8Array): void {
  const { words } = into;
  const whole = bytes.length >> 1;
  for (let i = 0; i < whole; i++)
    words[i] = firstPairs[bytes[2 * i]!]! | lastPairs[bytes[2 * i + 1]!]!;
  if (bytes.length % 2 === 1) words[whole] = firstPairs[bytes[2 * whole]!]!;
}

/** Text is made in one go from memory. */
const scratch = newDigits(termsBytesMax);
const ascii = new TextDecoder();

/** The text of the first `count` bytes that {@link writeDigits} wrote. */
export function digitsText({ text }: Digits, count: number): Hex {
  const length = 2 + 2 * count;
  return ascii.decode(length === text.length ? text : text.subarray(0, length)) as Hex;
}

/**
 * `0x` and two lower-case digits a byte.
 *
 * @throws {InvalidError} as {@link parseBytes}
 */
export function toHex(value: Bytes): Hex {
  const bytes = parseBytes(value);
  const digits = bytes.length <= termsBytesMax ? scratch : newDigits(bytes.length);
  writeDigits(digits, bytes);
  return digitsText(digits, bytes.length);
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

/** Bytes, or `0x` and two digits for each: either, wherever a public function wants bytes. */
export type Bytes = Uint8Array | Hex;

/**
 * Anything else is refused: read as bytes, it would derive a wrong address.
 *
 * @param path where the value stood, for the issue
 * @throws {InvalidError} `malformed_hex` for text, `wrong_type` for anything else
 */
export function parseBytes(value: unknown, path: Path = []): Uint8Array {
  if (value instanceof Uint8Array || isForeignBytes(value)) return value;
  if (typeof value === "string") return fromHex(value, path);
  const message = `expected a Uint8Array or hex, found ${kindOf(value)}`;
  throw new InvalidError([{ path, code: "wrong_type", message }]);
}

/** Bytes of another realm, such as a frame's: no `instanceof` knows them. */
const isForeignBytes = (value: unknown): value is Uint8Array =>
  ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";

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
