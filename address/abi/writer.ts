// Terms are written to one buffer of 24 KiB, which is kept from call to call: test/derive.bench.ts
// (WASM) loses a seventh without it.

import { termsBytesMax } from "./type.ts";

/** `at`: where the next bytes go; what lies from there on is zero. */
export type Writer = { readonly bytes: Uint8Array; readonly view: DataView; at: number };

/** Thrown when more is written than terms may have. */
export class TooLong extends Error {}

let spare: Writer | undefined;

/** Runs `write` on an empty writer. A `write` within a `write` gets a writer of its own. */
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
 * Takes the next `count` bytes, a multiple of 32, and gives where they begin.
 *
 * @throws {TooLong}
 */
export function reserve(writer: Writer, count: number): number {
  const start = writer.at;
  if (start + count > termsBytesMax) throw new TooLong();
  writer.at = start + count;
  return start;
}

/** `count` rounded up to whole words. */
export const padded = (count: number): number => (count + 31) & ~31;

/** Writes a length and then `bytes`, padded to whole words. */
export function writeBytes(writer: Writer, bytes: Uint8Array): void {
  const start = reserve(writer, 32 + padded(bytes.length));
  writer.view.setUint32(start + 28, bytes.length);
  writer.bytes.set(bytes, start + 32);
}
