// Repairs a record whose terms are corrupt. The import of records finds the correct terms.

import { deriveColumns } from "./columns.ts";
import type { Store } from "./store.ts";

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
