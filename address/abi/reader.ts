// Decodes untrusted ABI-encoded bytes. Accepts only the canonical encoding, in which every part has
// exactly one valid offset. The decoder therefore reads each byte only once. Its result cannot be
// larger than the input.

import { type Fault, InvalidError, type Path } from "../errors.ts";
import type { Cache } from "./cache.ts";
import { readAddress } from "./checksum.ts";
import { type Hex, toHex } from "./hex.ts";
import { decodeInteger, newView, readSmall, roundUpToWords } from "./number.ts";
import { type AbiType, bodyBytes } from "./type.ts";

/**
 * `at` is the offset at which the next part of the encoding must begin. `path` is the path of the
 * current value, for error messages.
 */
export type Reader = {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly cache: Cache;
  readonly path: Path;
  at: number;
};

/** The text of a value, or the texts of the values in a list or tuple. */
type Spelled = string | Spelled[];

export function newReader(bytes: Uint8Array, cache: Cache): Reader {
  return { bytes, view: newView(bytes), cache, path: [], at: 0 };
}

/**
 * @throws {InvalidError} always. The issue contains `fault`, and its path is the reader's path
 *   followed by `deeper`
 */
export function throwFault(reader: Reader, fault: Fault, ...deeper: Path): never {
  throw new InvalidError([{ path: [...reader.path, ...deeper], ...fault }]);
}

/** @throws {InvalidError} always, with a `malformed_terms` fault: the layout is not canonical */
export function malformed(reader: Reader, message: string, ...deeper: Path): never {
  return throwFault(reader, { code: "malformed_terms", message }, ...deeper);
}

/** Like {@link malformed}, but the message also shows the word at `at`. */
export function malformedWord(reader: Reader, at: number, message: string, ...deeper: Path): never {
  return malformed(reader, `${message}, found ${showWord(reader, at)}`, ...deeper);
}

/** Shows a word for a message: a small number, or else the hex of its 32 bytes. */
export const showWord = ({ bytes, view }: Reader, at: number): number | Hex =>
  readSmall(view, at) ?? toHex(bytes.subarray(at, at + 32));

/** Takes the next `count` bytes and returns their offset. */
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

/**
 * Reads the ABI offset in the word at `at`, which is relative to `base`. Checks that the offset
 * points to the next part of the encoding.
 */
export function takeOffset(reader: Reader, at: number, base: number): void {
  if (readSmall(reader.view, at) !== reader.at - base)
    malformedWord(reader, at, `expected offset ${reader.at - base} at byte ${at}`);
}

/** Reads a length. Checks that the remaining bytes can contain that many items of `unit` bytes. */
export function takeLength(reader: Reader, unit: number): number {
  const at = take(reader, 32);
  const length = readSmall(reader.view, at);
  if (length === undefined || length * unit > reader.bytes.length - reader.at)
    malformedWord(reader, at, `expected a length within the remaining bytes at byte ${at}`);
  return length;
}

/** Takes the next `count` bytes and checks that they are zero. */
export function takeZeros(reader: Reader, count: number): void {
  const start = take(reader, count);
  checkZeros(reader, start, reader.at);
}

export function takeEnd(reader: Reader): void {
  const more = reader.bytes.length - reader.at;
  if (more > 0)
    malformed(reader, `expected the end at byte ${reader.at}, found ${more} more bytes`);
}

/** Reads a length and its bytes, padded with zeros to whole words. */
export function takeBytes(reader: Reader): Uint8Array {
  const length = takeLength(reader, 1);
  const start = take(reader, roundUpToWords(length));
  checkZeros(reader, start + length, reader.at);
  return reader.bytes.subarray(start, start + length);
}

/** Decodes UTF-8, which must be valid. Keeps a byte order mark as text. */
export function decodeText(reader: Reader, bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    malformed(reader, `expected valid UTF-8, found ${bytes.length} other bytes`);
  }
}
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads the values of `types`, whose heads begin at `head`. */
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
      return decodeText(reader, takeBytes(reader));
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
      return readWordText(reader, type, head);
  }
}

/** Reads the value of `type` in the word at `at`. */
function readWordText(reader: Reader, type: AbiType, at: number): string {
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
      checkZeros(reader, at + type.size, at + 32);
      return toHex(bytes.subarray(at, at + type.size));
  }
  return malformedWord(reader, at, `expected a valid ${type.name} at byte ${at}`);
}

function checkZeros(reader: Reader, from: number, to: number): void {
  for (let i = from; i < to; i++)
    if (reader.bytes[i] !== 0)
      malformed(reader, `expected zero at byte ${i}, found ${reader.bytes[i]}`);
}
