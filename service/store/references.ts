// References: what an account calls an address, such as its order number. Only the account sees
// them. Those of pages (by client ID) are apart from those of servers (by API key): a client ID is
// public, so its claims must never pass for what the server said. They are saved with their records
// (save-functions.ts, sqlite/write-worker.ts).

import { type Kysely, type RawBuilder, sql } from "kysely";
import { madeByClientId } from "./owned.ts";
import type { Tables } from "./tables.ts";

type Sql = RawBuilder<unknown>;

/** The credential that made an address and named it, in rows, events, and webhooks. */
export type CreatedBy = "api_key" | "client_id";

/**
 * An account's name for an address: `reference` is what the API key set, `claimedReference` what a
 * client ID claims. At most one of them is there.
 */
export type Named = {
  reference: string | null;
  claimedReference: string | null;
  createdBy: CreatedBy;
};

/** Reads a row with its {@link joinReference} and {@link byClientId}. */
export function readNamed(row: { reference: string | null; by_client_id: number | null }): Named {
  return row.by_client_id === 1
    ? { reference: null, claimedReference: row.reference, createdBy: "client_id" }
    : { reference: row.reference, claimedReference: null, createdBy: "api_key" };
}

/** Rows `account_id`, `address`, `reference`, and `created_at`: every reference of an account. */
export const references = sql`address_references`;

/** Joins to a row the account's reference of an address, if any, as `n`. Both are SQL. */
export const joinReference = (account: Sql, address: Sql) =>
  sql`left join address_references n on n.account_id = ${account} and n.address = ${address}`;

/**
 * Returns SQL that is 1 if a client ID named the address, or made it and nobody named it.
 *
 * @param account of a row with its `joinRecord` and {@link joinReference}
 */
export const byClientId = (account: Sql) =>
  sql<number>`coalesce(n.by_client_id, ${madeByClientId(account)})`;

/** Finds the address that the account's API keys gave this reference first, 20 bytes. */
export async function findHolder(
  db: Kysely<Tables>,
  accountId: string,
  reference: string,
): Promise<Buffer | undefined> {
  const holder = await db
    .selectFrom("address_references")
    .select("address")
    .where("account_id", "=", accountId)
    .where("reference", "=", reference)
    .where("by_client_id", "=", 0)
    // Written out: only so does SQLite see that the unique index fits.
    .where(sql<boolean>`is_again = 0`)
    .executeTakeFirst();
  return holder && Buffer.from(holder.address);
}
