// Finds the records of many addresses, for rooms that keep tables of their own about them.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inGroups, statementRows } from "../flow/groups.ts";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/**
 * Probes of one statement. On SQLite others wait for it; for 10,000 at once PostgreSQL would rather
 * read all records.
 */
const probesMax = { sqlite: 250, postgres: 1_000 } satisfies Record<Dialect, number>;
/**
 * Sorted in one go. A busy chain has tens of thousands of recipients in some blocks, and other work
 * goes on between the groups.
 */
const sortedMax = 4_000;

/**
 * The ones of `addresses` that have a record. Each address costs one probe of the primary key. Both
 * dialects take a set as one parameter, so there is no statement to prepare anew.
 *
 * @param addresses lower case, each once
 */
export function matchAddresses(
  db: Kysely<Tables>,
  dialect: Dialect,
  addresses: readonly Hex[],
): Promise<Hex[]> {
  // Neighbours in the index share pages, so they are asked for in its order.
  return inGroups(addresses, sortedMax, (some) => matchSorted(db, dialect, some.sort()));
}

function matchSorted(db: Kysely<Tables>, dialect: Dialect, sorted: readonly Hex[]): Promise<Hex[]> {
  return inGroups(sorted, probesMax[dialect], async (some) => {
    // `cross join` keeps SQLite from walking the records and probing the set instead.
    const { rows } = await sql<{ address: Buffer }>`select r.address
      from ${writeSet(dialect, some)} cross join records r where r.address = asked.a`.execute(db);
    return rows.map((row) => toHex(row.address));
  });
}

/** The table `asked` to select from, with one column `a`. */
function writeSet(dialect: Dialect, addresses: readonly Hex[]): RawBuilder<unknown> {
  return dialect === "postgres"
    ? sql`unnest(${addresses.map((address) => Buffer.from(fromHex(address)))}::bytea[]) as asked(a)`
    : sql`(select unhex(value) as a from json_each(${writeJson(addresses)})) as asked`;
}

function writeJson(addresses: readonly Hex[]): string {
  return JSON.stringify(addresses.map((address) => address.slice(2)));
}

/** An account created the address first; its calls may run until `expirationSeconds`. */
export type FirstCreator = {
  address: Hex;
  accountId: string;
  isClientId: boolean;
  expirationSeconds: number;
};

/** `terms` unverified: {@link decodeRecord} proves them. */
export type Held = FirstCreator & { terms: Uint8Array };

/** The records of those of `addresses`, lower case, that have one, in no order. */
export async function findHeld(db: Kysely<Tables>, addresses: readonly Hex[]): Promise<Held[]> {
  const rows = await inGroups(addresses, statementRows.withTerms, (some) =>
    db
      .selectFrom("records")
      .select(["address", "terms", "account_id", "by_client_id", "expires_at"])
      .where("address", "in", toBytes(some))
      .execute(),
  );
  return rows.map((row) => ({ ...toCreator(row), terms: row.terms }));
}

/** The creators of those that {@link findHeld} finds, by address. */
export async function findCreators(
  db: Kysely<Tables>,
  addresses: readonly Hex[],
): Promise<Map<Hex, FirstCreator>> {
  const rows = await inGroups(addresses, statementRows.short, (some) =>
    db
      .selectFrom("records")
      .select(["address", "account_id", "by_client_id", "expires_at"])
      .where("address", "in", toBytes(some))
      .execute(),
  );
  return new Map(rows.map(toCreator).map((creator) => [creator.address, creator]));
}

const toBytes = (addresses: readonly Hex[]) => addresses.map((address) => fromHex(address));

const toCreator = (row: {
  address: Uint8Array;
  account_id: string;
  by_client_id: number;
  expires_at: number;
}): FirstCreator => ({
  address: toHex(row.address),
  accountId: row.account_id,
  isClientId: row.by_client_id === 1,
  expirationSeconds: row.expires_at,
});

/** Finds what `addresses` of this chain ask for, by address in lower case. */
export async function findAsked(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
): Promise<Map<Hex, { token: Hex; amount: string }>> {
  const rows = await db
    .selectFrom("records")
    .select(["address", "token", "amount"])
    .where("address", "in", addresses)
    .where("chain_id", "=", chainId)
    .execute();
  return new Map(
    rows.map(({ address, token, amount }) => [toHex(address), { token: toHex(token), amount }]),
  );
}
