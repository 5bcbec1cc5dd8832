// Verifies, serializes, and repairs records. A record is valid only if its terms are canonical and
// its address is derived from its terms, with the factory of this version. A create request and a
// lookup return the same JSON text, byte for byte.

import {
  decodeTerms,
  deriveAddress,
  factoryAddress,
  formatAddress,
  type Hex,
  type Intent,
  type Keccak,
} from "executable-address";
import { createKeccak } from "hash-wasm";
import { deriveColumns } from "./columns.ts";
import { CorruptError, type Store } from "./store.ts";

/** `keccak` is the library's implementation by default. */
export type DecodeParts = { factory: Hex; keccak?: Keccak };

const hasher = await createKeccak(256);

/**
 * Computes Keccak-256 in WebAssembly, for the library. All callers share one hasher. Sharing is
 * safe because each call is synchronous and resets the hasher.
 */
export const keccak: Keccak = (bytes) => hasher.init().update(bytes).digest("binary");

/**
 * The only factory that this version of the service supports. New addresses, stored records, and
 * transactions use this factory.
 */
export const ownFactory = { factory: factoryAddress, keccak } satisfies DecodeParts;

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

/** The prefix of the API's paths. A mirror serves records at the same paths. */
export const apiPrefix = "/v1";

/**
 * Returns the path at which the API and mirrors serve a record.
 * @param address in EIP-55 case, or "" for the common prefix of all records
 */
export const recordPath = (address: string) => `${apiPrefix}/address/${address}`;

/** The headers with which the API and mirrors serve a record. A record never changes. */
export const recordHeaders = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "public, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
};

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

/**
 * Replaces the corrupt terms of `address` (20 bytes). The caller must have verified that the new
 * `terms` derive the address.
 */
export async function mendTerms(
  { db }: Pick<Store, "db">,
  address: Uint8Array,
  terms: Uint8Array,
): Promise<void> {
  const { chainId, expirationSeconds, ...columns } = deriveColumns(terms);
  await db
    .updateTable("records")
    .set({ ...columns, terms, chain_id: chainId, expires_at: expirationSeconds })
    .where("address", "=", address)
    .execute();
}

/** Thrown if the addresses in the database were derived with the factory of another version. */
export class OtherFactoryError extends Error {
  override name = "OtherFactoryError";
}

/**
 * The maximum number of records whose addresses are derived again to check the factory. A single
 * record would not be enough, because it could be corrupt.
 */
const samples = 8;

/**
 * Rejects a database whose addresses were derived with another factory. All lookups in that
 * database would fail, because this version's factory derives other addresses from its terms.
 *
 * @throws {OtherFactoryError} if the database has records, and this version's factory derived none
 *   of the first few addresses
 */
export async function requireOwnRecords({ db }: Store): Promise<void> {
  const rows = await db.selectFrom("records").select(["address", "terms"]).limit(samples).execute();
  const isOwn = (row: (typeof rows)[0]) =>
    Buffer.compare(row.address, deriveAddress(row.terms, ownFactory)) === 0;
  if (rows.length === 0 || rows.some(isOwn)) return;
  throw new OtherFactoryError(
    `contains addresses of a different factory; this version uses the factory ${factoryAddress}`,
  );
}
