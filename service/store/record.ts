// A record is believed only as far as it proves itself: its terms must be canonical and derive the
// address under which they are held. Every reader of records decodes them here, with one keccak,
// and create and look-up share the JSON text, byte for byte.

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
    throw notServed(address, cause);
  }
}

/** @param address 20 bytes */
export function notServed(address: Uint8Array, cause: unknown): CorruptError {
  const digits = Buffer.from(address).toString("hex");
  return new CorruptError(`the record of 0x${digits} is not served`, { cause });
}

/** The records are of a factory that came before this one, or was made by somebody else. */
export class OtherFactoryError extends Error {
  override name = "OtherFactoryError";
}

/** A single one may be corrupt; so many are not by chance. */
const samples = 8;

/**
 * Under another factory no record derives its address: each look-up would be a fault of ours.
 *
 * @throws {OtherFactoryError} where there are records and none of the first few is this factory's
 */
export async function requireOwnRecords({ db }: Store, parts: DecodeParts): Promise<void> {
  const rows = await db.selectFrom("records").select(["address", "terms"]).limit(samples).execute();
  const isOwn = (row: (typeof rows)[0]) =>
    Buffer.compare(row.address, deriveAddress(row.terms, parts)) === 0;
  if (rows.length === 0 || rows.some(isOwn)) return;
  throw new OtherFactoryError(
    `holds addresses of another factory than this version's, ${parts.factory}`,
  );
}

/** Why a record does not prove itself, in a line without the address. */
export const causeOf = ({ cause, message }: CorruptError): string =>
  cause instanceof Error ? cause.message : message;

/**
 * Puts `terms` in place of those held at `address` (20 bytes), which nobody is served. Only for
 * terms that were proved to derive the address: then whatever else stood there did not.
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

const hasher = await createKeccak(256);

/** Any number of bytes to 32. Each call begins anew and ends at once, so all may share it. */
export const keccak: Keccak = (bytes) => hasher.init().update(bytes).digest("binary");
