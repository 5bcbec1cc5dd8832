// Tells which accounts created an address, and when. The first stands in the record, later ones in
// a table apart, which the store alone knows: rooms above put these parts into their own SQL, so
// that a question about tables of both stays one statement.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "./tables.ts";

type Sql = RawBuilder<unknown>;

/**
 * Joins to a row the record of its address, as `r` with all its columns, and what
 * {@link createdAt} and {@link madeByClientId} read of the account.
 *
 * @param account that created the address, in SQL as `address`
 */
export const joinRecord = (account: Sql, address: Sql) =>
  sql`join records r on r.address = ${address}
    left join later_owners l on l.account_id = ${account} and l.address = ${address}`;

/** The rows of records as `r`, joined as {@link joinRecord} does. */
export const recordsFor = (account: Sql) => sql`records r
    left join later_owners l on l.account_id = ${account} and l.address = r.address`;

/** When the account created the address, of a row with its {@link joinRecord}. */
export const createdAt = (account: Sql) =>
  sql<number>`case when r.account_id = ${account} then r.created_at else l.created_at end`;

/** 1 where a client ID of the account created the address, of a row with its {@link joinRecord}. */
export const madeByClientId = (account: Sql) =>
  sql<number>`case when r.account_id = ${account} then r.by_client_id else l.by_client_id end`;

/** Rows `account_id`, `address` and `created_at`: every account that created an address. */
export const owners = sql`owners`;

const isAmong = (chainId: number, addresses: readonly Hex[]) =>
  sql`r.address in (${sql.join(addresses.map((address) => sql`${fromHex(address)}`))})
    and r.chain_id = ${chainId}`;

/** Rows of the first owners of those `addresses` whose intent is of the chain, with its `token`. */
export const firstOwners = (chainId: number, addresses: readonly Hex[]) =>
  sql`select r.account_id, r.address, r.created_at, r.token from records r
    where ${isAmong(chainId, addresses)}`;

/** Finds those of {@link firstOwners} that others created too. */
export async function findShared(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Hex[],
): Promise<Hex[]> {
  const { rows } = await sql<{ address: Buffer }>`select r.address from records r
    where ${isAmong(chainId, addresses)}
      and exists (select 1 from later_owners l where l.address = r.address)`.execute(db);
  return rows.map(({ address }) => toHex(address));
}

/** Rows as of {@link firstOwners}, of the first `most` others who created the address. */
export const laterOwners = (address: Hex, most: number) =>
  sql`select o.account_id, o.address, o.created_at, r.token
    from (select * from later_owners where address = ${fromHex(address)}
      order by created_at limit ${most}) o
    join records r on r.address = o.address where r.address = ${fromHex(address)}`;
