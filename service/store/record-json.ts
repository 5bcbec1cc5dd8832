// A record as JSON text: the one body that create and look-up share, byte for byte.

import { formatAddress, type Intent } from "executable-address";
import { type DecodeParts, decodeRecord } from "./record.ts";

/**
 * @param address 20 bytes
 * @param intent as the library parses or decodes it, so that its fields stand in one order
 */
export function recordJson(
  address: Uint8Array,
  terms: Uint8Array,
  intent: Intent,
  { factory, keccak }: DecodeParts,
): string {
  const { buffer, byteOffset, byteLength } = terms;
  const hex = Buffer.from(buffer, byteOffset, byteLength).toString("hex");
  const text = formatAddress(address, keccak);
  return JSON.stringify({ address: text, factory, intent, terms: `0x${hex}` });
}

/** The same of terms as they are held. @throws {CorruptError} as {@link decodeRecord} */
export function heldRecordJson(address: Uint8Array, terms: Uint8Array, parts: DecodeParts): string {
  return recordJson(address, terms, decodeRecord(address, terms, parts), parts);
}
