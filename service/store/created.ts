// New records, so that each can be looked at once, without an index or a row that a create would
// pay for. The one index there is lists an account's records by age, so a walk goes from account to
// account: two probes of that index for each account that has nothing new.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import type { Dialect, Tables } from "./tables.ts";

/** Both inclusive, Unix milliseconds. */
export type Span = { from: number; until: number };

/** Where a walk stands: behind this record of this account. */
export type Place = { accountId: string; createdAt: number; address: Hex };

export type Created = { address: Hex; createdAt: number; accountId: string };

/** Before all accounts. */
export const startPlace: Place = { accountId: "", createdAt: 0, address: "0x" };

/** Accounts probed by one statement, which others wait for. */
const accountsMax = 200;

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

/**
 * The records created in `span` that follow `place`, account by account, oldest first, and where
 * the next step goes on: undefined at the end.
 */
export async function findCreated(
  db: Kysely<Tables>,
  span: Span,
  place: Place,
  limit: number,
): Promise<{ created: Created[]; next: Place | undefined }> {
  const created = await createdAfter(db, span, place, limit);
  if (created.length === limit) return { created, next: created.at(-1) };
  const accounts = await accountsAfter(db, span.from, place.accountId);
  for (const { id, first } of accounts) {
    if (first === null || first > span.until) continue;
    const start = { accountId: id, createdAt: span.from, address: "0x" as const };
    created.push(...(await createdAfter(db, span, start, limit - created.length)));
    if (created.length === limit) return { created, next: created.at(-1) };
  }
  if (accounts.length < accountsMax) return { created, next: undefined };
  return {
    created,
    next: { accountId: accounts.at(-1)!.id, createdAt: span.until, address: "0x" },
  };
}

async function createdAfter(
  db: Kysely<Tables>,
  { until }: Span,
  { accountId, createdAt, address }: Place,
  limit: number,
): Promise<Created[]> {
  const { rows } = await sql<{ address: Buffer; created_at: number }>`
    select address, created_at from records
    where account_id = ${accountId} and (created_at, address) > (${createdAt}, ${fromHex(address)})
      and created_at <= ${until}
    order by created_at, address limit ${limit}`.execute(db);
  return rows.map((row) => ({
    address: toHex(row.address),
    createdAt: row.created_at,
    accountId,
  }));
}

/** The next accounts that ever created, and when each first did from `from` on, if it did. */
async function accountsAfter(db: Kysely<Tables>, from: number, after: string) {
  const { rows } = await sql<{ id: string; first: number | null }>`
    with recursive walk (id, n) as (
      select min(account_id), 1 from records where account_id > ${after}
      union all
      select (select min(account_id) from records where account_id > walk.id), n + 1
      from walk where id is not null and n < ${accountsMax}
    )
    select id, (select min(created_at) from records
        where account_id = walk.id and created_at >= ${from}) as first
    from walk where id is not null order by n`.execute(db);
  return rows;
}

/**
 * When the oldest record was created, in seconds, if there is any: nothing was paid before it. From
 * account to account, since no index has the records of all by age.
 */
export async function findOldestCreation(db: Kysely<Tables>): Promise<number | undefined> {
  let oldest: number | undefined;
  for (let after: string | undefined = ""; after !== undefined; ) {
    const accounts = await accountsAfter(db, 0, after);
    for (const { first } of accounts) oldest = Math.min(oldest ?? first!, first!);
    after = accounts.length === accountsMax ? accounts.at(-1)!.id : undefined;
  }
  return oldest === undefined ? undefined : Math.floor(oldest / 1000);
}
