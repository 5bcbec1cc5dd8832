// What is held for an address is derived again at each read: a row that does not give the address
// back is never served.

import { decodeTerms, deriveAddress, type Intent } from "executable-address";
import { CorruptError } from "../../store/store.ts";
import type { Parts } from "../parts.ts";
import { recordJson } from "../record.ts";

type VerifyParts = Pick<Parts, "factory" | "keccak">;

/**
 * The intent that `terms` spell.
 *
 * @param address 20 bytes
 * @throws {CorruptError} where the terms are not canonical or derive another address
 */
export function verifiedIntent(
  address: Buffer,
  terms: Uint8Array,
  { factory, keccak }: VerifyParts,
): Intent {
  try {
    const intent = decodeTerms(terms, { keccak });
    const derived = deriveAddress(terms, { factory, keccak });
    if (address.equals(derived)) return intent;
    throw new Error(`its terms derive ${Buffer.from(derived).toString("hex")}`);
  } catch (cause) {
    const message = `the record of 0x${address.toString("hex")} is not served`;
    throw new CorruptError(message, { cause });
  }
}

/** The body of a look-up. @throws as {@link verifiedIntent} */
export function verifiedText(address: Buffer, terms: Uint8Array, parts: VerifyParts): string {
  return recordJson(address, terms, verifiedIntent(address, terms, parts), parts);
}
