// Derives the columns that lists, totals, and searches use from a record's terms (the encoded
// intent). Records are verified from their terms, not from these columns.

import { collectorAddress, decodeTerms, InvalidError, requestedAmount } from "executable-address";
import { termsOffsets } from "executable-address/client/internal";

/** `token` has 20 bytes, and `amount` is decimal. */
export type RecordColumns = {
  chainId: number;
  token: Uint8Array;
  amount: string;
  expirationSeconds: number;
};

/**
 * Extracts the columns without decoding the terms. All terms begin with the same eight words of 32
 * bytes. The last 8 bytes of the words `chainId` and `expirationTimestamp` contain their values,
 * which are at most 2^53 - 1.
 *
 * @throws {RangeError} if the terms are shorter than 256 bytes (eight words)
 */
export function deriveColumns(terms: Uint8Array): RecordColumns {
  const bytes = Buffer.from(terms.buffer, terms.byteOffset, terms.byteLength);
  const { token, amount, expirationTimestamp, chainId } = termsOffsets;
  return {
    chainId: Number(bytes.readBigUInt64BE(chainId + 24)),
    token: bytes.subarray(token + 12, token + 32),
    amount: String(BigInt(`0x${bytes.toString("hex", amount, amount + 32)}`)),
    expirationSeconds: Number(bytes.readBigUInt64BE(expirationTimestamp + 24)),
  };
}

const collector = Buffer.from(collectorAddress.slice(2), "hex");

/**
 * Returns the amount that a payer is asked to pay, in base units. The requested amount differs from
 * `amount` only if the intent accepts a range (a tolerance). Few intents have a tolerance. An
 * intent with a tolerance calls the Collector contract. To save time, terms are decoded only if
 * they contain the Collector's address. If the terms are corrupt, returns `amount`.
 */
export function deriveRequested({ terms, amount }: { terms: Uint8Array; amount: string }): string {
  const bytes = Buffer.from(terms.buffer, terms.byteOffset, terms.byteLength);
  if (!bytes.includes(collector)) return amount;
  try {
    return requestedAmount(decodeTerms(bytes));
  } catch (error) {
    if (error instanceof InvalidError) return amount;
    throw error;
  }
}

/**
 * Converts a reference to lowercase for searches. The databases do not convert references, because
 * SQLite and PostgreSQL convert some letters differently.
 */
export const foldReference = (reference: string): string => reference.toLowerCase();
