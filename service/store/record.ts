// Decodes, verifies, and serializes records. A record is valid only if its terms are canonical and
// its address is derived from its terms. A create request and a lookup return the same JSON text,
// byte for byte.

import {
  decodeTerms,
  deriveAddress,
  formatAddress,
  type Hex,
  type Intent,
  type Keccak,
} from "executable-address";
import { CorruptError } from "./store.ts";

/** `keccak` is the library's implementation by default. */
export type DecodeParts = { factory: Hex; keccak?: Keccak };

/**
 * Verifies a record, and returns its intent.
 *
 * @param address the address of the record, 20 bytes
 * @throws {CorruptError} if the terms are not canonical or derive another address; `cause` is the
 * reason
 */
export function decodeRecord(address: Uint8Array, terms: Uint8Array, parts: DecodeParts): Intent {
  try {
    const intent = decodeTerms(terms, parts);
    const derived = deriveAddress(terms, parts);
    if (Buffer.compare(address, derived) === 0) return intent;
    throw new Error(
      `the address derived from the stored terms is 0x${Buffer.from(derived).toString("hex")}`,
    );
  } catch (cause) {
    throw notServed(address, cause);
  }
}

/** @param address 20 bytes */
export function notServed(address: Uint8Array, cause: unknown): CorruptError {
  const digits = Buffer.from(address).toString("hex");
  return new CorruptError(`the record of 0x${digits} is corrupt and is not served`, { cause });
}

/** Returns the reason why a record is corrupt, as one line without the address. */
export const causeOf = ({ cause, message }: CorruptError): string =>
  cause instanceof Error ? cause.message : message;

/**
 * @param address 20 bytes
 * @param intent an intent that the library returned. The library always returns the fields in the
 *   same order, and the JSON keeps this order.
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

/**
 * Verifies stored terms, and returns the record as JSON.
 *
 * @throws {CorruptError} as in {@link decodeRecord}
 */
export function storedRecordJson(
  address: Uint8Array,
  terms: Uint8Array,
  parts: DecodeParts,
): string {
  return recordJson(address, terms, decodeRecord(address, terms, parts), parts);
}
