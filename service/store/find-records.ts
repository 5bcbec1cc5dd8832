// Finds records by address, or in the order in which they were committed. Other folders use these
// functions to find the records for the addresses in their own tables.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inGroups } from "../flow/groups.ts";
import { statementRows } from "./statement-rows.ts";
import type { Dialect, Tables } from "./tables.ts";

/**
 * The maximum number of addresses per statement. On SQLite, other statements must wait until this
 * statement has finished. On PostgreSQL, a statement with 10,000 addresses would scan all records.
 */
const probesMax = { sqlite: 250, postgres: 1_000 } satisfies Record<Dialect, number>;
/**
 * The maximum number of addresses that are sorted without a pause for other work. A block of a busy
 * chain can have tens of thousands of recipients.
 */
const sortedMax = 4_000;

/**
 * Returns the `addresses` that have a record. Searches the index on `records.address` once for each
 * address. All addresses of a statement are in one parameter, so its text does not depend on their
 * number.
 *
 * @param addresses in lowercase, without repetitions
 */
export function matchAddresses(
  db: Kysely<Tables>,
  dialect: Dialect,
  addresses: readonly Hex[],
): Promise<Hex[]> {
  // The addresses are sorted, because neighboring index entries are often on the same database
  // page.
  return inGroups(addresses, sortedMax, (some) => matchSorted(db, dialect, some.sort()));
}

function matchSorted(db: Kysely<Tables>, dialect: Dialect, sorted: readonly Hex[]): Promise<Hex[]> {
  return inGroups(sorted, probesMax[dialect], async (some) => {
    // With `cross join`, SQLite looks up each address. Otherwise, it might scan all records.
    const { rows } = await sql<{ address: Buffer }>`select r.address
      from ${writeSet(dialect, some)} cross join records r where r.address = wanted.a`.execute(db);
    return rows.map((row) => toHex(row.address));
  });
}

/** Returns SQL for a table `wanted`, whose only column `a` contains the addresses. */
function writeSet(dialect: Dialect, addresses: readonly Hex[]): RawBuilder<unknown> {
  return dialect === "postgres"
    ? sql`unnest(${toBuffers(addresses)}::bytea[]) as wanted(a)`
    : sql`(select unhex(value) as a from json_each(${writeJson(addresses)})) as wanted`;
}

const toBuffers = (addresses: readonly Hex[]) =>
  addresses.map((address) => Buffer.from(fromHex(address)));

function writeJson(addresses: readonly Hex[]): string {
  return JSON.stringify(addresses.map((address) => address.slice(2)));
}

/**
 * The first account that created an address. `expirationSeconds` is the intent's expiration time in
 * Unix seconds.
 */
export type FirstCreator = {
  address: Hex;
  accountId: string;
  isClientId: boolean;
  expirationSeconds: number;
};

/** {@link decodeRecord} verifies the `terms`. */
export type UnverifiedRecord = FirstCreator & { terms: Uint8Array };

/** Finds the records of `addresses` (lowercase), in any order. */
export async function findRecords(
  db: Kysely<Tables>,
  addresses: readonly Hex[],
): Promise<UnverifiedRecord[]> {
  const rows = await inGroups(addresses, statementRows.withTerms, (some) =>
    db
      .selectFrom("records")
      .select(["address", "terms", "account_id", "by_client_id", "expires_at"])
      .where("address", "in", toBytes(some))
      .execute(),
  );
  return rows.map((row) => ({ ...toCreator(row), terms: row.terms }));
}

/** Returns a map from each of the `addresses` (lowercase) to the account that created it first. */
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

/**
 * Returns the `addresses` whose intents are for chains other than `chainId`. All hex is lowercase.
 */
export async function findOfOtherChains(
  db: Kysely<Tables>,
  chainId: number,
  addresses: readonly Uint8Array[],
): Promise<Set<Hex>> {
  const rows = await db
    .selectFrom("records")
    .select("address")
    .where("address", "in", addresses)
    .where("chain_id", "<>", chainId)
    .execute();
  return new Set(rows.map(({ address }) => toHex(address)));
}

/**
 * Returns the requested token and amount of each address whose intent is for `chainId`. The keys
 * are lowercase addresses.
 */
export async function findRequested(
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

export type Created = { seq: number; address: Hex; chainId: number; createdAtMs: number };

/**
 * Returns up to `limit` records after `seq`, in the order in which they were committed. If `seq` is
 * 0, starts with the first record. A reader that continues from the last `seq` reads each record
 * exactly once. To guarantee this on PostgreSQL, an insert holds a lock until its commit
 * (save-functions.ts). The insert takes the lock before it gets its `seq`. Without the lock, a
 * record could be committed after a reader has read a higher `seq`.
 */
export async function findCreated(
  db: Kysely<Tables>,
  seq: number,
  limit: number,
): Promise<Created[]> {
  const rows = await db
    .selectFrom("records")
    .select(["seq", "address", "chain_id", "created_at"])
    .where("seq", ">", seq)
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    seq: row.seq,
    address: toHex(row.address),
    chainId: row.chain_id,
    createdAtMs: row.created_at,
  }));
}

/** Returns the `seq` of the newest record, or 0 if there is none. */
export async function findNewestSeq(db: Kysely<Tables>): Promise<number> {
  const all = db.selectFrom("records").select("seq").where("seq", ">", 0);
  return (await all.orderBy("seq", "desc").limit(1).executeTakeFirst())?.seq ?? 0;
}

/**
 * Returns SQL for the chain's records that expire later than the time `expiredSeconds`. Selects
 * only records after `seq`, up to and including `end`.
 */
export const unexpired = (chainId: number, seq: number, end: number, expiredSeconds: number) =>
  sql`select seq, account_id, address from records
    where seq > ${seq} and seq <= ${end} and chain_id = ${chainId}
      and expires_at > ${expiredSeconds}`;

export type RequestedTokens = { tokens: Hex[]; seq: number; isEnd: boolean };

/**
 * Finds the tokens that are requested by intents on the chain. The tokens are in lowercase. Reads
 * at most `statementRows.walked` records after `seq`. Skips intents that expire at `expiredSeconds`
 * or earlier.
 */
export async function findRequestedTokens(
  db: Kysely<Tables>,
  chainId: number,
  expiredSeconds: number,
  seq: number,
): Promise<RequestedTokens> {
  const newest = await findNewestSeq(db);
  const end = Math.min(newest, seq + statementRows.walked);
  const rows = await db
    .selectFrom("records")
    .select("token")
    .distinct()
    .where("seq", ">", seq)
    .where("seq", "<=", end)
    .where("chain_id", "=", chainId)
    .where("expires_at", ">", expiredSeconds)
    .execute();
  const tokens = rows.map(({ token }) => toHex(token));
  return { tokens, seq: Math.max(seq, end), isEnd: end >= newest };
}

/** Returns the creation time of the first record in Unix seconds, or undefined without records. */
export async function findOldestCreation(db: Kysely<Tables>): Promise<number | undefined> {
  const [first] = await findCreated(db, 0, 1);
  return first && Math.floor(first.createdAtMs / 1000);
}
