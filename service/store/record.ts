// A record is used only after it was verified: its terms must be canonical and derive the address
// under which they are stored. Every reader of records decodes them here, with one keccak. Create
// and lookup share the JSON text, byte for byte.

import {
  decodeTerms,
  deriveAddress,
  formatAddress,
  type Hex,
  type Intent,
  type Keccak,
} from "executable-address";
import { createKeccak } from "hash-wasm";
import { deriveColumns } from "./columns.ts";
import { CorruptError, type Store } from "./store.ts";

/** `keccak`: noble's by default. */
export type DecodeParts = { factory: Hex; keccak?: Keccak };

/**
 * Returns the intent of `terms`.
 *
 * @param address 20 bytes: the address under which the terms are stored
 * @throws {CorruptError} with its cause: the terms are not canonical or derive another address
 */
export function decodeRecord(address: Uint8Array, terms: Uint8Array, parts: DecodeParts): Intent {
  try {
    const intent = decodeTerms(terms, parts);
    const derived = deriveAddress(terms, parts);
    if (Buffer.compare(address, derived) === 0) return intent;
    throw new Error(`its terms derive 0x${Buffer.from(derived).toString("hex")}`);
  } catch (cause) {
    throw notServed(address, cause);
  }
}

/** @param address 20 bytes */
export function notServed(address: Uint8Array, cause: unknown): CorruptError {
  const digits = Buffer.from(address).toString("hex");
  return new CorruptError(`the record of 0x${digits} is not served`, { cause });
}

/** The records belong to an earlier factory, or to someone else's. */
export class OtherFactoryError extends Error {
  override name = "OtherFactoryError";
}

/**
 * The number of records to check. One can be corrupt, but all of them cannot be corrupt by chance.
 */
const samples = 8;

/**
 * With another factory no record derives its address, so each lookup would be a fault of ours.
 *
 * @throws {OtherFactoryError} if there are records and none of the first few belongs to this
 *   factory
 */
export async function requireOwnRecords({ db }: Store, parts: DecodeParts): Promise<void> {
  const rows = await db.selectFrom("records").select(["address", "terms"]).limit(samples).execute();
  const isOwn = (row: (typeof rows)[0]) =>
    Buffer.compare(row.address, deriveAddress(row.terms, parts)) === 0;
  if (rows.length === 0 || rows.some(isOwn)) return;
  throw new OtherFactoryError(
    `contains addresses of another factory than that of this version, ${parts.factory}`,
  );
}

/** Returns why a record does not match its address, in a line without the address. */
export const causeOf = ({ cause, message }: CorruptError): string =>
  cause instanceof Error ? cause.message : message;

/**
 * Replaces the stored terms at `address` (20 bytes), which are corrupt and served to nobody. Call
 * it only with terms that derive the address: the stored terms are then wrong.
 */
export async function mendTerms(
  { db }: Pick<Store, "db">,
  address: Uint8Array,
  terms: Uint8Array,
): Promise<void> {
  const { chainId, expiresAt, ...columns } = deriveColumns(terms);
  await db
    .updateTable("records")
    .set({ ...columns, terms, chain_id: chainId, expires_at: expiresAt })
    .where("address", "=", address)
    .execute();
}

/**
 * @param address 20 bytes
 * @param intent as the library parses or decodes it, so that its fields have one order
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

/** Does the same for stored terms. @throws {CorruptError} as {@link decodeRecord} */
export function heldRecordJson(address: Uint8Array, terms: Uint8Array, parts: DecodeParts): string {
  return recordJson(address, terms, decodeRecord(address, terms, parts), parts);
}

const hasher = await createKeccak(256);

/**
 * Maps any number of bytes to 32. Each call is independent and synchronous, so all callers can
 * share it.
 */
export const keccak: Keccak = (bytes) => hasher.init().update(bytes).digest("binary");
