// New records, in the order in which they became visible: a reader that goes on from the last `seq`
// reads each once. On PostgreSQL an insert takes its numbers under a lock (postgres.ts), since else
// a lower one may be committed after a higher one was read.

import { type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/** `createdAt` Unix milliseconds. */
export type Created = { seq: number; address: Hex; chainId: number; createdAt: number };

/** Up to `limit` records that follow `seq`; 0 is before all. */
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
    createdAt: row.created_at,
  }));
}

/** The last record's, 0 where there is none. */
export async function findNewestSeq(db: Kysely<Tables>): Promise<number> {
  const all = db.selectFrom("records").select("seq").where("seq", ">", 0);
  return (await all.orderBy("seq", "desc").limit(1).executeTakeFirst())?.seq ?? 0;
}

/**
 * Gives in SQL `seq`, `account_id` and `address` of the chain's records above `seq`, up to `end`,
 * that expire after `expiredSeconds`.
 */
export const unexpired = (chainId: number, seq: number, end: number, expiredSeconds: number) =>
  sql`select seq, account_id, address from records
    where seq > ${seq} and seq <= ${end} and chain_id = ${chainId}
      and expires_at > ${expiredSeconds}`;

/** When the first record was created, in seconds, if there is any. */
export async function findOldestCreation(db: Kysely<Tables>): Promise<number | undefined> {
  const [first] = await findCreated(db, 0, 1);
  return first && Math.floor(first.createdAt / 1000);
}

/** Unix milliseconds by the clock that all servers on this database share. */
export async function readClock(db: Kysely<Tables>, dialect: Dialect): Promise<number> {
  const now =
    dialect === "postgres"
      ? sql`extract(epoch from clock_timestamp())`
      : sql`unixepoch('now', 'subsec')`;
  const { rows } = await sql<{ ms: number }>`select cast(${now} * 1000 as bigint) as ms`.execute(
    db,
  );
  return Number(rows[0]!.ms);
}
