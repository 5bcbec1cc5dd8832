// Reading ABI-encoded bytes that may be hostile. Every part must lie where the one canonical
// encoding has it, and every bit must be as it is there: each byte is read once, no offset can
// point at another's bytes, and nothing grows beyond its encoding.

import { type Fault, InvalidError, type Path } from "../errors.ts";
import type { Cache } from "./cache.ts";
import { readAddress } from "./checksum.ts";
import { toHex } from "./hex.ts";
import { decodeInteger, readSmall, viewOf } from "./number.ts";
import { type AbiType, bodyBytes } from "./type.ts";
import { padded } from "./writer.ts";

/** `at`: where the next part of the tail must begin. `path`: what is being read. */
export type Reader = {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly cache: Cache;
  readonly path: Path;
  at: number;
};

/** Text of a value, or of the values within a list or a tuple. */
type Spelled = string | Spelled[];

export function newReader(bytes: Uint8Array, cache: Cache): Reader {
  return { bytes, view: viewOf(bytes), cache, path: [], at: 0 };
}

/** @throws {InvalidError} always: `fault` where the reader stands, or at `deeper` below it */
export function throwFault(reader: Reader, fault: Fault, ...deeper: Path): never {
  throw new InvalidError([{ path: [...reader.path, ...deeper], ...fault }]);
}

/** @throws {InvalidError} always, as {@link throwFault}: the layout is at fault */
export function malformed(reader: Reader, message: string, ...deeper: Path): never {
  return throwFault(reader, { code: "malformed_terms", message }, ...deeper);
}

/** Takes the next `count` bytes of the tail. */
export function take(reader: Reader, count: number): number {
  const start = reader.at;
  if (count > reader.bytes.length - start)
    malformed(
      reader,
      `expected ${count} bytes from byte ${start}, found ${reader.bytes.length - start}`,
    );
  reader.at = start + count;
  return start;
}

/** The offset at `at` must lead, from `base`, to where the tail goes on. */
export function takeOffset(reader: Reader, at: number, base: number): void {
  if (readSmall(reader.view, at) !== reader.at - base)
    malformed(reader, `expected offset ${reader.at - base} at byte ${at}`);
}

/** A length of at most what is left, at `unit` bytes each. */
export function takeLength(reader: Reader, unit: number): number {
  const at = take(reader, 32);
  const length = readSmall(reader.view, at);
  if (length === undefined || length * unit > reader.bytes.length - reader.at)
    malformed(reader, `the length at byte ${at} is more than what follows`);
  return length;
}

/** Takes the next `count` bytes of the tail, which have to be zero. */
export function takeZeros(reader: Reader, count: number): void {
  const start = take(reader, count);
  zeros(reader, start, reader.at);
}

/** Nothing may be left. */
export function takeEnd(reader: Reader): void {
  const more = reader.bytes.length - reader.at;
  if (more > 0) malformed(reader, `expected the end at byte ${reader.at}, found ${more} more`);
}

/** Length and bytes, padded with zeros. */
export function takeBytes(reader: Reader): Uint8Array {
  const length = takeLength(reader, 1);
  const start = take(reader, padded(length));
  zeros(reader, start + length, reader.at);
  return reader.bytes.subarray(start, start + length);
}

/** The text of UTF-8, of valid Unicode only. A byte order mark is text like any other. */
export function textOf(reader: Reader, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    malformed(reader, "expected valid UTF-8");
  }
}
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The values of `types`, whose heads begin at `head`. */
export function takeValues(reader: Reader, types: readonly AbiType[], head: number): Spelled[] {
  let at = head;
  return types.map((type, index) => {
    reader.path.push(index);
    const value = takeValue(reader, type, at, head);
    reader.path.pop();
    at += type.headBytes;
    return value;
  });
}

function takeValue(reader: Reader, type: AbiType, head: number, base: number): Spelled {
  if (type.dynamic) takeOffset(reader, head, base);
  switch (type.kind) {
    case "bytes":
      return toHex(takeBytes(reader));
    case "string":
      return textOf(reader, takeBytes(reader));
    case "tuple": {
      const at = type.dynamic ? take(reader, bodyBytes(type.components)) : head;
      return takeValues(reader, type.components, at);
    }
    case "list": {
      const unit = type.element.headBytes;
      const length = type.length ?? takeLength(reader, unit);
      const at = type.dynamic ? take(reader, length * unit) : head;
      return takeValues(reader, new Array(length).fill(type.element), at);
    }
    default:
      return wordText(reader, type, head);
  }
}

/** Text of a value of one word, which must be one of the type's. */
function wordText(reader: Reader, type: AbiType, at: number): string {
  const { bytes, cache, view } = reader;
  switch (type.kind) {
    case "uint":
    case "int": {
      const value = decodeInteger(view, at, type.bits, type.kind === "int");
      if (value !== undefined) return String(value);
      break;
    }
    case "address": {
      const address = readAddress(cache, bytes, at);
      if (address !== undefined) return address;
      break;
    }
    case "bool": {
      const value = readSmall(view, at);
      if (value === 0 || value === 1) return value === 1 ? "true" : "false";
      break;
    }
    case "fixedBytes":
      zeros(reader, at + type.size, at + 32);
      return toHex(bytes.subarray(at, at + type.size));
  }
  return malformed(reader, `the word at byte ${at} is no ${type.name}`);
}

function zeros(reader: Reader, from: number, to: number): void {
  for (let i = from; i < to; i++)
    if (reader.bytes[i] !== 0) malformed(reader, `expected zero at byte ${i}`);
}
