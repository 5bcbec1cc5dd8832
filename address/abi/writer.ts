// Writes ABI-encoded bytes. Validates and encodes an argument's text at the same time. Lists and
// tuples must be nested JSON arrays, formatted exactly as by JSON.stringify. Suggests a string for
// an argument that is not a string.
//
// All calls reuse one buffer of 24 KiB. With new buffers, deriving the record of two calls
// takes about 63% longer (test/derive.bench.ts, row "WASM, new buffers in abi/writer.js").

import {
  addFault,
  describeType,
  type Faults,
  noFaults,
  quoted,
  quotedLengthMax,
} from "../errors.ts";
import type { Cache } from "./cache.ts";
import { writeAddress } from "./checksum.ts";
import { countBytes, writeHex } from "./hex.ts";
import { readInteger, roundUpToWords, writeInteger } from "./number.ts";
import { type AbiType, bodyBytes, termsBytesMax } from "./type.ts";

/** `at` is the offset of the next write. All bytes from this offset to the end are zero. */
export type Writer = { readonly bytes: Uint8Array; readonly view: DataView; at: number };

/** Thrown by {@link reserve} if the terms become too long. */
export class TooLong extends Error {}

let spare: Writer | undefined;

/**
 * Calls `write` with an empty writer, which can be reused after the call. A nested call gets a new
 * writer. For example, the caller's keccak function may itself derive another address.
 */
export function withWriter<T>(write: (writer: Writer) => T): T {
  const writer = spare ?? newWriter();
  spare = undefined;
  try {
    return write(writer);
  } finally {
    writer.bytes.fill(0, 0, writer.at);
    writer.at = 0;
    spare = writer;
  }
}

function newWriter(): Writer {
  const bytes = new Uint8Array(termsBytesMax);
  return { bytes, view: new DataView(bytes.buffer), at: 0 };
}

/**
 * Reserves the next `count` bytes and returns their offset.
 *
 * @param count a multiple of 32
 * @throws {TooLong} if the terms would become longer than {@link termsBytesMax}
 */
export function reserve(writer: Writer, count: number): number {
  const start = writer.at;
  if (start + count > termsBytesMax) throw new TooLong();
  writer.at = start + count;
  return start;
}

/** Writes a length and `bytes`, padded to whole words. */
export function writeBytes(writer: Writer, bytes: Uint8Array): void {
  const start = reserve(writer, 32 + roundUpToWords(bytes.length));
  writer.view.setUint32(start + 28, bytes.length);
  writer.bytes.set(bytes, start + 32);
}

/** The canonical text of a value. For a list or a tuple, the canonical texts of its values. */
type Canonical = string | Canonical[];

type ArgumentContext = {
  readonly faults: Faults;
  readonly writer: Writer;
  readonly cache: Cache;
};

/**
 * The maximum length of a value's text. JSON writes one byte with at most 6 characters (`\u0000`).
 * A longer text would describe more bytes than an intent's terms can contain.
 */
const textLengthMax = 6 * termsBytesMax + 4;

/**
 * Encodes `text` and returns its canonical text. Only the case of hex letters can differ from the
 * input. If `text` is invalid, adds a fault. In this case, the caller must not use the result or
 * the written bytes.
 *
 * @param head the offset of the argument's head, where the bytes must be zero
 * @param base the position to which ABI offsets in the head are relative
 */
export function writeArgument(
  context: ArgumentContext,
  type: AbiType,
  text: string,
  head: number,
  base: number,
): string {
  const { faults } = context;
  if (text.length > textLengthMax) {
    addFault(
      faults,
      "too_long",
      `expected at most ${textLengthMax} characters, found ${text.length}`,
    );
    return "";
  }
  if (type.kind !== "list" && type.kind !== "tuple")
    return writeValue(context, type, text, head, base) as string;
  const before = faults.issues.length;
  const value = readJson(faults, text);
  if (value === undefined) return "";
  const spelling = JSON.stringify(writeValue(context, type, value, head, base));
  if (spelling === text || faults.issues.length > before) return spelling;
  const wanted = JSON.stringify(value);
  if (wanted === text) return spelling;
  const hint = quotable(wanted) ? `: write ${wanted}` : "";
  addFault(faults, "not_canonical", `expected the output of JSON.stringify${hint}`);
  return "";
}

const quotable = (text: string): boolean => quoted(text) !== undefined;

function readJson(faults: Faults, text: string): unknown {
  try {
    return JSON.parse(text) ?? null;
  } catch {
    addFault(
      faults,
      "malformed_json",
      'expected JSON text of an array of strings, as in ["1","2"]',
    );
    return undefined;
  }
}

function writeValue(
  context: ArgumentContext,
  type: AbiType,
  value: unknown,
  head: number,
  base: number,
): Canonical {
  if (type.kind === "list" || type.kind === "tuple")
    return writeValues(context, type, value, head, base);
  if (typeof value !== "string") {
    const message = `expected ${type.name} as a string, found ${describeType(value)}`;
    addFault(context.faults, "wrong_type", message + suggestString(context, type, value, head));
    return "";
  }
  return type.dynamic
    ? writeTail(context, type, value, head, base)
    : writeWord(context, type, value, head);
}

/**
 * Suggests a string for a value that is a number or a boolean. Returns an empty text if the
 * suggested string would also be invalid.
 */
function suggestString(
  context: ArgumentContext,
  type: AbiType,
  value: unknown,
  head: number,
): string {
  if (typeof value !== "number" && typeof value !== "boolean") return "";
  const spelling = respellArgument(value);
  if (spelling === undefined || type.kind === "bytes") return "";
  const faults = noFaults();
  if (type.kind !== "string") writeWord({ ...context, faults }, type, String(value), head);
  return faults.issues.length > 0 ? "" : `: write ${spelling}`;
}

/** The maximum number of items in a suggestion. */
const suggestedItemsMax = 64;

/**
 * Suggests a string, quoted as JSON, to write instead of the argument `value`. For an array,
 * suggests its JSON text, with every inner value as a string. Returns undefined if the meaning is
 * unclear or the suggestion is too long.
 *
 * @param value an argument that is not a string
 */
export function respellArgument(value: unknown): string | undefined {
  let items = 0;
  const spell = (item: unknown): Canonical | undefined => {
    if (++items > suggestedItemsMax) return undefined;
    if (typeof item === "string" && item.length <= quotedLengthMax) return item;
    if (typeof item === "boolean" || Number.isSafeInteger(item)) return String(item);
    if (typeof item === "bigint") return String(item).slice(0, quotedLengthMax);
    if (!Array.isArray(item) || item.length > suggestedItemsMax) return undefined;
    const parts: Canonical[] = [];
    for (const inner of item) {
      const part = spell(inner);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return parts;
  };
  const spelled = spell(value);
  if (spelled === undefined) return undefined;
  const text = JSON.stringify(typeof spelled === "string" ? spelled : JSON.stringify(spelled));
  return quoted(text) && text;
}

/** Writes a value that is one word long. */
function writeWord(context: ArgumentContext, type: AbiType, text: string, at: number): string {
  const { faults, writer } = context;
  switch (type.kind) {
    case "uint":
    case "int": {
      const value = readInteger(faults, text, type.bits, type.kind === "int");
      if (value !== undefined) writeInteger(writer.view, at, value);
      return text;
    }
    case "address":
      return writeAddress(faults, text, context.cache, writer.bytes, at) ?? text;
    case "fixedBytes":
      return writeFixedBytes(context, type.size, text, at);
    default:
      if (text === "true") writer.bytes[at + 31] = 1;
      else if (text !== "false")
        addFault(faults, "malformed_bool", `expected "true" or "false"${found(text)}`);
      return text;
  }
}

const found = (text: string): string => (quotable(text) ? `, found ${quoted(text)}` : "");

function writeFixedBytes(context: ArgumentContext, size: number, text: string, at: number): string {
  const { faults, writer } = context;
  const count = countBytes(text);
  if (count < 0) addHexFault(faults, text);
  else if (count !== size)
    addFault(faults, "wrong_length", `expected ${size} bytes of hex, found ${count}`);
  else if (!writeHex(text, writer.bytes, at)) addHexFault(faults, text);
  return text.toLowerCase();
}

function addHexFault(faults: Faults, text: string): void {
  const half = /^0x[0-9a-fA-F]*$/.test(text) ? ": the last byte has only one digit" : "";
  addFault(faults, "malformed_hex", `expected 0x and an even number of hex digits${half}`);
}

/** Writes `bytes` or a `string`: its length and its bytes, padded to whole words. */
function writeTail(
  context: ArgumentContext,
  type: AbiType,
  text: string,
  head: number,
  base: number,
): string {
  const { faults, writer } = context;
  writeInteger(writer.view, head, writer.at - base);
  if (type.kind === "bytes") {
    const count = countBytes(text);
    if (count < 0) addHexFault(faults, text);
    if (count < 0) return text;
    const start = reserve(writer, 32 + roundUpToWords(count));
    writer.view.setUint32(start + 28, count);
    if (!writeHex(text, writer.bytes, start + 32)) addHexFault(faults, text);
    return text.toLowerCase();
  }
  if (!text.isWellFormed()) {
    addFault(faults, "invalid_unicode", "expected valid Unicode, found a lone surrogate");
    return text;
  }
  const start = reserve(writer, 32);
  const { read, written } = utf8.encodeInto(text, writer.bytes.subarray(writer.at));
  if (read < text.length) {
    writer.at = termsBytesMax;
    throw new TooLong();
  }
  reserve(writer, roundUpToWords(written));
  writer.view.setUint32(start + 28, written);
  return text;
}
const utf8 = new TextEncoder();

/**
 * Writes the values of a list or a tuple at `head`. If the type is dynamic, writes an offset at
 * `head`, and the values in the tail.
 */
function writeValues(
  context: ArgumentContext,
  type: AbiType & { kind: "list" | "tuple" },
  value: unknown,
  head: number,
  base: number,
): Canonical[] {
  const { faults, writer } = context;
  const wanted = type.kind === "tuple" ? type.components.length : type.length;
  if (!Array.isArray(value)) {
    addFault(
      faults,
      "wrong_type",
      `expected an array for ${type.name}, found ${describeType(value)}`,
    );
    return [];
  }
  if (wanted !== undefined && value.length !== wanted) {
    addFault(faults, "wrong_count", `expected ${wanted} values, found ${value.length}`);
    return [];
  }
  const bytes =
    type.kind === "tuple" ? bodyBytes(type.components) : value.length * type.element.headBytes;
  let at = head;
  if (type.dynamic) {
    writeInteger(writer.view, head, writer.at - base);
    if (wanted === undefined) writer.view.setUint32(reserve(writer, 32) + 28, value.length);
    at = reserve(writer, bytes);
  }
  const start = at;
  const spelled: Canonical[] = [];
  for (let i = 0; i < value.length; i++) {
    const inner = type.kind === "tuple" ? type.components[i]! : type.element;
    faults.path.push(i);
    spelled.push(writeValue(context, inner, value[i], at, start));
    faults.path.pop();
    at += inner.headBytes;
  }
  return spelled;
}
