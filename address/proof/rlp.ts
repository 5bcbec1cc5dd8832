// RLP, the encoding of Ethereum's headers, receipts, and tries. The decoder accepts only the
// canonical encoding. Source: Yellow Paper, appendix B.

import { concatBytes } from "@noble/hashes/utils.js";
import { toHex } from "../abi/hex.ts";
import { invalidProof } from "./error.ts";

export type Rlp = Uint8Array | readonly Rlp[];

/**
 * The maximum depth of nested lists. No structure of Ethereum needs more than 8 levels. A receipt,
 * for example, needs four levels: receipt, logs, log, and topics.
 */
const depthMax = 8;

/**
 * Decodes one item.
 * @throws {ProofError} `invalid_proof` unless `bytes` are the canonical encoding of the item
 */
export function decodeRlp(bytes: Uint8Array): Rlp {
  const [item, end] = readItem(bytes, 0, 0);
  if (end !== bytes.length) throw invalidProof(`RLP: expected ${end} bytes, found ${bytes.length}`);
  return item;
}

function readItem(bytes: Uint8Array, at: number, depth: number): [Rlp, number] {
  const first = bytes[at];
  if (depth > depthMax)
    throw invalidProof(`RLP: expected at most ${depthMax} nested lists, found ${depth}`);
  if (first === undefined) throw tooShort(at + 1, bytes);
  if (first < 0x80) return [bytes.subarray(at, at + 1), at + 1];
  const isList = first >= 0xc0;
  const [start, length] = readLength(bytes, at, isList ? 0xc0 : 0x80);
  const end = start + length;
  if (end > bytes.length) throw tooShort(end, bytes);
  if (!isList) {
    if (length === 1 && bytes[start]! < 0x80)
      throw invalidProof("RLP: expected no prefix before a single byte below 0x80");
    return [bytes.subarray(start, end), end];
  }
  const list: Rlp[] = [];
  for (let next = start; next < end; ) {
    const [item, after] = readItem(bytes.subarray(0, end), next, depth + 1);
    list.push(item);
    next = after;
  }
  return [list, end];
}

const tooShort = (wanted: number, { length }: Uint8Array) =>
  invalidProof(`RLP: expected at least ${wanted} bytes, found ${length}`);

/** Reads the length of the item at `at`. Returns the offset and the length of its content. */
function readLength(bytes: Uint8Array, at: number, base: number): [number, number] {
  const short = bytes[at]! - base;
  if (short <= 55) return [at + 1, short];
  const size = short - 55;
  let length = 0;
  for (let i = 1; i <= size; i++) length = length * 256 + (bytes[at + i] ?? 0);
  if (bytes[at + 1] === 0 || length <= 55)
    throw invalidProof(
      `RLP: expected the shortest encoding of a length, found ${size} bytes for ${length}`,
    );
  return [at + 1 + size, length];
}

/** Encodes `item`. */
export function encodeRlp(item: Rlp): Uint8Array {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && item[0]! < 0x80) return item;
    return concatBytes(lengthPrefix(item.length, 0x80), item);
  }
  const content = concatBytes(...item.map(encodeRlp));
  return concatBytes(lengthPrefix(content.length, 0xc0), content);
}

function lengthPrefix(length: number, base: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(base + length);
  const bytes = encodeCount(length);
  return Uint8Array.of(base + 55 + bytes.length, ...bytes);
}

/** Encodes an integer as big-endian bytes without leading zeros. */
export function encodeCount(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  for (let rest = BigInt(value); rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn));
  return Uint8Array.from(bytes);
}

/**
 * Decodes a canonical integer.
 *
 * @throws {ProofError} if the item is not a canonical integer, or is above 2^53 - 1
 */
export function decodeCount(item: Rlp | undefined, what: string): number {
  const bytes = expectBytes(item, what);
  const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  if (bytes[0] === 0 || !Number.isSafeInteger(value))
    throw invalidProof(
      `${what}: expected an integer up to 2^53 - 1, found ${toHex(bytes.subarray(0, 9))}`,
    );
  return value;
}

/**
 * Returns `item` if it is a byte string of `length` bytes. Without `length`, any byte string is
 * valid.
 * @throws {ProofError} otherwise
 */
export function expectBytes(item: Rlp | undefined, what: string, length?: number): Uint8Array {
  if (item instanceof Uint8Array && item.length === (length ?? item.length)) return item;
  throw invalidProof(`${what}: expected ${length ?? "some"} bytes, found ${describeItem(item)}`);
}

/**
 * Returns `item` if it is a list of `least` to `most` items.
 * @throws {ProofError} otherwise
 */
export function expectList(
  item: Rlp | undefined,
  what: string,
  least = 0,
  most = Number.POSITIVE_INFINITY,
): readonly Rlp[] {
  if (Array.isArray(item) && item.length >= least && item.length <= most) return item;
  const count = most === Number.POSITIVE_INFINITY ? "" : ` of ${least} to ${most}`;
  throw invalidProof(`${what}: expected a list${count}, found ${describeItem(item)}`);
}

function describeItem(item: Rlp | undefined): string {
  if (item instanceof Uint8Array) return `${item.length} bytes`;
  return item ? `a list of ${item.length}` : "nothing";
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
