// Lists, sums, and looks read these columns of many records. The store extracts them from the terms
// when it saves a record, so that nothing else reads bytes of terms. A record is still verified
// only by its terms: these columns authorize nothing.

import { askedAmount, collectorAddress, decodeTerms, InvalidError } from "executable-address";

/** `token` 20 bytes, `amount` decimal, `expiresAt` Unix seconds. */
export type RecordColumns = {
  chainId: number;
  token: Uint8Array;
  amount: string;
  expiresAt: number;
};

/**
 * Every intent has these words at the same place (spec/terms.md): 0x20 ‖ token ‖ amount ‖ calls ‖
 * expiration ‖ recovery ‖ salt ‖ chainId, of 32 bytes each.
 *
 * @throws {RangeError} if the terms are shorter
 */
export function deriveColumns(terms: Uint8Array): RecordColumns {
  const bytes = Buffer.from(terms.buffer, terms.byteOffset, terms.byteLength);
  return {
    chainId: Number(bytes.readBigUInt64BE(248)),
    token: bytes.subarray(44, 64),
    amount: String(BigInt(`0x${bytes.toString("hex", 64, 96)}`)),
    expiresAt: Number(bytes.readBigUInt64BE(152)),
  };
}

const collector = Buffer.from(collectorAddress.slice(2), "hex");

/**
 * Returns the amount that a payer is asked for, in base units. Few intents have a tolerance, so
 * terms are only decoded if they contain the Collector's address. Corrupt terms ask for `amount`.
 */
export function deriveAsked({ terms, amount }: { terms: Uint8Array; amount: string }): string {
  const bytes = Buffer.from(terms.buffer, terms.byteOffset, terms.byteLength);
  if (!bytes.includes(collector)) return amount;
  try {
    return askedAmount(decodeTerms(bytes));
  } catch (error) {
    if (error instanceof InvalidError) return amount;
    throw error;
  }
}

/**
 * Returns a reference in the form that is searched, because the databases fold letters in different
 * ways.
 */
export const foldReference = (reference: string): string => reference.toLowerCase();
