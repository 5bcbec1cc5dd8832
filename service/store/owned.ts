// The addresses of an account, newest first, and a search among them. A request reads a bounded
// number of rows, in steps of a millisecond, whatever the account holds: on SQLite all statements
// but creates and look-ups wait for each other, and a search through 174,392 rows took 400 ms.

import { type Kysely, sql } from "kysely";
import type { Tables } from "./tables.ts";

/** A place in the list: what follows it is older. `address` 20 bytes. */
export type OwnedPlace = { createdAtMs: number; address: Uint8Array };

export type Owned = OwnedPlace & { terms: Uint8Array };

export type OwnedSearch = {
  accountId: string;
  /** Without it, from the newest. */
  after?: OwnedPlace | undefined;
  /** Both inclusive, 20 bytes each. */
  addresses?: { from: Uint8Array; to: Uint8Array } | undefined;
  /** 20 bytes. */
  token?: Uint8Array | undefined;
  limit: number;
};

/** Rows of one statement, which others wait for: each may lie on a page of its own. */
const stepRows = 200;
/** A search that found less goes on with the next request. */
const stepsMax = 40;

/**
 * Up to `limit` addresses that fit, and where the next call goes on; undefined at the end. A search
 * that meets few of them may give less than `limit`, none included, with more to come.
 */
export async function findOwned(
  db: Kysely<Tables>,
  search: OwnedSearch,
): Promise<{ found: Owned[]; next: OwnedPlace | undefined }> {
  const { addresses } = search;
  if (addresses && Buffer.compare(addresses.from, addresses.to) === 0) {
    return { found: await findOne(db, search, addresses.from), next: undefined };
  }
  const isSearch = addresses !== undefined || search.token !== undefined;
  const step = isSearch ? stepRows : search.limit + 1;
  const fitting: OwnedPlace[] = [];
  let place = search.after;
  for (let steps = 0; steps < stepsMax; steps++) {
    const rows = await readStep(db, search, place, step);
    for (const row of rows) {
      if (!fits(row, search)) continue;
      if (fitting.length === search.limit) {
        return { found: await withTerms(db, fitting), next: fitting.at(-1) };
      }
      fitting.push(row);
    }
    place = rows.at(-1) ?? place;
    if (rows.length < step) return { found: await withTerms(db, fitting), next: undefined };
  }
  return { found: await withTerms(db, fitting), next: place };
}

/** A whole address is looked up where it stands. */
async function findOne(db: Kysely<Tables>, search: OwnedSearch, address: Uint8Array) {
  const { rows } = await sql<Row>`
    select owners.created_at as "createdAtMs", owners.address, ${tokenOf} as token from owners
    join records on records.address = owners.address
    where owners.address = ${address} and owners.account_id = ${search.accountId}`.execute(db);
  return withTerms(
    db,
    rows.filter((row) => search.token === undefined || fits(row, search)),
  );
}

type Row = OwnedPlace & { token: Uint8Array | null };

/** Terms = 0x20 ‖ token ‖ …, each in 32 bytes: the token's 20 bytes begin at the 45th. */
const tokenOf = sql<Uint8Array>`substr(records.terms, 45, 20)`;

/**
 * The next rows of both kinds of owner, each by its own index, merged. The two are read apart since
 * SQLite sorts the whole account to merge them in a view.
 */
async function readStep(
  db: Kysely<Tables>,
  { accountId, token }: OwnedSearch,
  after: OwnedPlace | undefined,
  limit: number,
): Promise<Row[]> {
  const { createdAtMs, address } = after ?? { createdAtMs: 2 ** 53, address: new Uint8Array() };
  const wanted = token === undefined ? sql<null>`null` : tokenOf;
  const { rows: first } = await sql<Row>`
    select created_at as "createdAtMs", address, ${wanted} as token from records
    where account_id = ${accountId} and (created_at, address) < (${createdAtMs}, ${address})
    order by created_at desc, address desc limit ${limit}`.execute(db);
  const { rows: later } = await sql<Row>`
    select l.created_at as "createdAtMs", l.address, ${wanted} as token from later_owners l
    join records on records.address = l.address
    where l.account_id = ${accountId} and (l.created_at, l.address) < (${createdAtMs}, ${address})
    order by l.created_at desc, l.address desc limit ${limit}`.execute(db);
  return later.length === 0 ? first : [...first, ...later].sort(newestFirst).slice(0, limit);
}

const newestFirst = (a: OwnedPlace, b: OwnedPlace) =>
  b.createdAtMs - a.createdAtMs || Buffer.compare(b.address, a.address);

function fits({ address, token }: Row, search: OwnedSearch): boolean {
  if (search.token && (token === null || Buffer.compare(token, search.token) !== 0)) return false;
  if (!search.addresses) return true;
  const { from, to } = search.addresses;
  return Buffer.compare(address, from) >= 0 && Buffer.compare(address, to) <= 0;
}

/** Of one statement, which others wait for: terms have up to 24,576 bytes. */
const termsMax = 25;

async function withTerms(db: Kysely<Tables>, places: OwnedPlace[]): Promise<Owned[]> {
  const owned: Owned[] = [];
  for (let at = 0; at < places.length; at += termsMax) {
    const some = places.slice(at, at + termsMax);
    const addresses = some.map(({ address }) => address);
    const rows = await db
      .selectFrom("records")
      .select(["address", "terms"])
      .where("address", "in", addresses)
      .execute();
    const termsAt = new Map(
      rows.map(({ address, terms }) => [Buffer.from(address).toString("hex"), terms]),
    );
    for (const { createdAtMs, address } of some) {
      const terms = termsAt.get(Buffer.from(address).toString("hex"));
      if (terms) owned.push({ createdAtMs, address, terms });
    }
  }
  return owned;
}

type After = { accountId: string; after: OwnedPlace; untilMs: number; limit: number };

/**
 * The addresses that follow `after`, oldest first, until `untilMs` inclusive, each with the first
 * 256 bytes of its terms, unverified.
 */
export async function findOwnedAfter(
  db: Kysely<Tables>,
  { accountId, after: { createdAtMs, address }, untilMs, limit }: After,
): Promise<(OwnedPlace & { head: Buffer })[]> {
  type Row = OwnedPlace & { head: Uint8Array };
  const { rows: first } = await sql<Row>`
    select created_at as "createdAtMs", address, substr(terms, 1, 256) as head from records
    where account_id = ${accountId} and (created_at, address) > (${createdAtMs}, ${address})
      and created_at <= ${untilMs}
    order by created_at, address limit ${limit}`.execute(db);
  const { rows: later } = await sql<Row>`
    select l.created_at as "createdAtMs", l.address, substr(r.terms, 1, 256) as head
    from later_owners l join records r on r.address = l.address
    where l.account_id = ${accountId} and (l.created_at, l.address) > (${createdAtMs}, ${address})
      and l.created_at <= ${untilMs}
    order by l.created_at, l.address limit ${limit}`.execute(db);
  return [...first, ...later]
    .map((row) => ({ ...row, createdAtMs: Number(row.createdAtMs), head: Buffer.from(row.head) }))
    .sort((a, b) => newestFirst(b, a))
    .slice(0, limit);
}
