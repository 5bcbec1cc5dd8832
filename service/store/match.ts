// Which of many addresses are ours, in one look-up each, whatever their number.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Dialect, Tables } from "./tables.ts";

/**
 * Those of `addresses` a record is held for. One statement; each address costs one probe of the
 * primary key. Both dialects take the whole set as one parameter, so there is no limit on its size
 * and no statement to prepare anew.
 *
 * @param addresses lower case, each once
 */
export async function matchAddresses(
  db: Kysely<Tables>,
  dialect: Dialect,
  addresses: readonly Hex[],
): Promise<Hex[]> {
  if (addresses.length === 0) return [];
  // `cross join` keeps SQLite from walking the records and probing the set instead.
  const rows = await sql<{ address: Buffer }>`
    select r.address from ${setOf(dialect, addresses)}
    cross join records r where r.address = asked.a`.execute(db);
  return rows.rows.map((row) => toHex(row.address));
}

/** What to select from: `asked`, with one column `a`. */
export function setOf(dialect: Dialect, addresses: readonly Hex[]): RawBuilder<unknown> {
  // In the index's own order, neighbours share pages: half the time, from 10⁵ addresses on.
  const sorted = [...addresses].sort();
  return dialect === "postgres"
    ? sql`unnest(${sorted.map((address) => Buffer.from(fromHex(address)))}::bytea[]) as asked(a)`
    : sql`(select unhex(value) as a from json_each(${jsonOf(sorted)})) as asked`;
}

function jsonOf(addresses: readonly Hex[]): string {
  return JSON.stringify(addresses.map((address) => address.slice(2)));
}
