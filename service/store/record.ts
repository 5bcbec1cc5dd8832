// A record is believed only as far as it proves itself: its terms must be canonical and derive the
// address under which they are held. Every reader of records decodes them here.

import { decodeTerms, deriveAddress, type Hex, type Intent, type Keccak } from "executable-address";
import { CorruptError } from "./store.ts";

/** `keccak`: noble's unless a faster one is given. */
export type DecodeParts = { factory: Hex; keccak?: Keccak };

/**
 * The intent that `terms` spell.
 *
 * @param address 20 bytes: the one under which the terms are held
 * @throws {CorruptError} with its cause: the terms are not canonical or derive another address
 */
export function decodeRecord(address: Uint8Array, terms: Uint8Array, parts: DecodeParts): Intent {
  try {
    const intent = decodeTerms(terms, parts);
    const derived = deriveAddress(terms, parts);
    if (Buffer.compare(address, derived) === 0) return intent;
    throw new Error(`its terms derive 0x${Buffer.from(derived).toString("hex")}`);
  } catch (cause) {
    const digits = Buffer.from(address).toString("hex");
    throw new CorruptError(`the record of 0x${digits} is not served`, { cause });
  }
}

/** Why a record does not prove itself, in a line without the address. */
export const causeOf = ({ cause, message }: CorruptError): string =>
  cause instanceof Error ? cause.message : message;
