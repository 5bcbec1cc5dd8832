// Defines the factory of this version, and rejects a database that was used with another factory.

import { deriveAddress, factoryAddress } from "executable-address";
import { keccak } from "./keccak.ts";
import type { DecodeParts } from "./record.ts";
import type { Store } from "./store.ts";

/**
 * The only factory that this version of the service supports. New addresses, stored records, and
 * transactions use this factory.
 */
export const ownFactory = { factory: factoryAddress, keccak } satisfies DecodeParts;

/** Thrown if the addresses in the database were derived with the factory of another version. */
export class OtherFactoryError extends Error {
  override name = "OtherFactoryError";
}

/**
 * The number of records that are compared with the factory. A single record would not be enough,
 * because it could be corrupt.
 */
const samples = 8;

/**
 * Rejects a database whose addresses were derived with another factory. All lookups in such a
 * database would fail, because its terms have other addresses with this factory.
 *
 * @throws {OtherFactoryError} if there are records, and none of the first few matches this factory
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
