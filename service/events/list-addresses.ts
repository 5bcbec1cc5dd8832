// Lists the addresses of an account by filters. Each query walks one index and reads a bounded
// number of its rows: where few of them fit, a page may be short or empty and still have a next.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../store/tables.ts";
import { byClientId, type CreatedBy, createdByOf } from "./references.ts";
import { chainIdOf, expirationOf, termsHead, tokenOf } from "./terms-head.ts";

type AddressFilter = {
  state?: string | undefined;
  /** 20 bytes. */
  token?: Buffer | undefined;
  chainId?: number | undefined;
  reference?: string | undefined;
  /** Unix milliseconds, from inclusive, until exclusive. */
  createdFrom?: number | undefined;
  createdUntil?: number | undefined;
  settledFrom?: number | undefined;
  settledUntil?: number | undefined;
};

export type AddressQuery = AddressFilter & {
  accountId: string;
  order: "newest" | "oldest";
  /** Behind this row; by creation, or by settlement where a settled time is asked for. */
  cursor?: Cursor | undefined;
  limit: number;
  nowMs: number;
};

/** `address` 20 bytes. */
export type Cursor = { atMs: number; address: Buffer };

export type ListedAddress = {
  address: Buffer;
  createdAtMs: number;
  /** The fixed part of the terms, 256 bytes. Unverified. */
  termsHead: Buffer;
  reference: string | null;
  createdBy: CreatedBy;
  state: string;
  block: { number: number; hash: string; timestamp: number } | null;
  transactionHash: string | null;
  settledAtMs: number | null;
};

/** Rows of one statement, which others wait for: each may lie on pages of its own. */
const stepRows = 100;
/** Of one page. */
const stepsMax = 8;
/**
 * Oldest first, what is younger than this is not shown yet: rows get their time before they are
 * committed, and one that appeared behind a cursor would be skipped.
 */
export const settleMs = 15_000;

export async function listAddresses(
  db: Kysely<Tables>,
  query: AddressQuery,
): Promise<{ items: ListedAddress[]; next: Cursor | undefined }> {
  const walk = walkOf(query);
  const isWhole = walk.answers === filtersOf(query).length;
  const [step, steps] = isWhole ? [query.limit + 1, 1] : [stepRows, stepsMax];
  const items: ListedAddress[] = [];
  let { cursor } = query;
  let isMore = true;
  for (let at = 0; at < steps && isMore && items.length < query.limit; at++) {
    const rows = await readRows(db, { ...query, cursor }, walk, step);
    let read = 0;
    for (const row of rows) {
      if (items.length === query.limit) break;
      read += 1;
      const item = itemOf(row, query.nowMs);
      cursor = { atMs: Number(row.walk_at), address: item.address };
      if (fits(item, query)) items.push(item);
    }
    isMore = read < rows.length || rows.length === step;
  }
  if (query.order === "newest") return { items, next: isMore ? cursor : undefined };
  // What is added later comes behind what was read, so one can always go on.
  return { items, next: cursor };
}

/** One address of the account; undefined where it has not created it. @param address 20 bytes */
export async function findListed(
  db: Kysely<Tables>,
  { accountId, address, nowMs }: { accountId: string; address: Buffer; nowMs: number },
): Promise<ListedAddress | undefined> {
  const from = sql`owners a where a.account_id = ${accountId} and a.address = ${address}`;
  const query = { accountId, order: "newest" as const, limit: 1, nowMs };
  const [row] = await readRows(db, query, { at: "created_at", from, answers: 0 }, 1);
  return row && itemOf(row, nowMs);
}

/** The filters that are set, but for the bounds of the walk itself. */
const filtersOf = ({ state, token, chainId, reference }: AddressFilter) =>
  [state, token, chainId, reference].filter((each) => each !== undefined);

/** `answers` of the filters are met by every row of the walk. */
type Walk = { at: string; from: ReturnType<typeof sql>; answers: number };

function walkOf({ accountId, settledFrom, settledUntil, reference, state }: AddressQuery): Walk {
  const mine = sql`a.account_id = ${accountId}`;
  if (settledFrom !== undefined || settledUntil !== undefined) {
    return { at: "settled_at", from: sql`watches a where ${mine}`, answers: 0 };
  }
  if (reference !== undefined) {
    const from = sql`address_references a where ${mine} and a.reference = ${reference}`;
    return { at: "created_at", from, answers: 1 };
  }
  // Of an address that never held money nothing is kept: these two walk all of them.
  if (state !== undefined && state !== "unfunded" && state !== "expired") {
    return {
      at: "created_at",
      from: sql`watches a where ${mine} and a.state = ${state}`,
      answers: 1,
    };
  }
  return { at: "created_at", from: sql`owners a where ${mine}`, answers: 0 };
}

type Row = {
  address: Uint8Array;
  walk_at: number;
  created_at: number;
  head: Uint8Array;
  reference: string | null;
  by_client_id: number | null;
  state: string | null;
  block_number: number | null;
  block_hash: string | null;
  block_time: number | null;
  transaction_hash: string | null;
  settled_at: number | null;
};

async function readRows(
  db: Kysely<Tables>,
  query: AddressQuery,
  walk: Walk,
  limit: number,
): Promise<Row[]> {
  const { accountId, order, cursor, nowMs } = query;
  const bySettled = walk.at === "settled_at";
  const from = bySettled ? query.settledFrom : query.createdFrom;
  const until = bySettled ? query.settledUntil : query.createdUntil;
  const settled = order === "oldest" ? nowMs - settleMs : undefined;
  // The cursor stands in the bounds too: only by one range of times is a view's index entered.
  const least = Math.max(from ?? 0, order === "oldest" ? (cursor?.atMs ?? 0) : 0);
  const last = order === "newest" && cursor ? cursor.atMs + 1 : Number.MAX_SAFE_INTEGER;
  const latest = Math.min(until ?? last, settled ?? last, last);
  const at = sql.ref(`a.${walk.at}`);
  const way = sql.raw(order === "newest" ? "desc" : "asc");
  const behind = sql.raw(order === "newest" ? "<" : ">");
  const afterCursor = cursor
    ? sql`and (${at}, a.address) ${behind} (${cursor.atMs}, ${cursor.address})`
    : sql``;
  // Not by the view of owners: SQLite joined all records of the account to a page of them.
  const { rows } = await sql<Row>`
    select page.address, page.walk_at, ${termsHead(sql`r.terms`)} as head, n.reference,
      ${byClientId(sql`${accountId}`)} as by_client_id,
      case when r.account_id = ${accountId} then r.created_at else l.created_at end as created_at,
      w.state, w.block_number, w.block_hash, w.block_time, w.transaction_hash, w.settled_at
    from (select a.address, ${at} as walk_at from ${walk.from}
        and ${at} >= ${least} and ${at} < ${latest} ${afterCursor}
        order by ${at} ${way}, a.address ${way} limit ${limit}) page
      join records r on r.address = page.address
      left join later_owners l on l.account_id = ${accountId} and l.address = page.address
      left join watches w on w.account_id = ${accountId} and w.address = page.address
      left join address_references n on n.account_id = ${accountId} and n.address = page.address
    order by page.walk_at ${way}, page.address ${way}`.execute(db);
  return rows;
}

function itemOf(row: Row, nowMs: number): ListedAddress {
  const head = Buffer.from(row.head);
  const seen = seenOf(row);
  return {
    address: Buffer.from(row.address),
    createdAtMs: Number(row.created_at),
    termsHead: head,
    reference: row.reference,
    createdBy: createdByOf(row.by_client_id),
    ...seen,
    state: stateNow(seen.state, expirationOf(head), nowMs),
  };
}

/** An address without money is not observed again, so its terms tell whether it has expired. */
export const stateNow = (seen: string, expirationTimestamp: number, nowMs: number): string =>
  seen === "unfunded" && expirationTimestamp * 1000 < nowMs ? "expired" : seen;

type SeenRow = Pick<
  Row,
  "state" | "block_number" | "block_hash" | "block_time" | "transaction_hash" | "settled_at"
>;

function seenOf(row: SeenRow): Seen {
  const { block_number: number, block_hash: hash, block_time: timestamp } = row;
  return {
    state: row.state ?? "unfunded",
    block:
      number === null
        ? null
        : { number: Number(number), hash: hash ?? "", timestamp: Number(timestamp ?? 0) },
    transactionHash: row.transaction_hash,
    settledAtMs: row.settled_at === null ? null : Number(row.settled_at),
  };
}

/** What was last seen of an address; of those without money nothing is kept. */
export type Seen = Pick<ListedAddress, "state" | "block" | "transactionHash" | "settledAtMs">;

/** By address, 40 hex digits; those of which nothing is kept are left out. */
export async function findSeen(
  db: Kysely<Tables>,
  accountId: string,
  addresses: readonly Uint8Array[],
): Promise<Map<string, Seen>> {
  if (addresses.length === 0) return new Map();
  const rows = await db
    .selectFrom("watches")
    .select(["address", "state", "block_number", "block_hash", "block_time"])
    .select(["transaction_hash", "settled_at"])
    .where("account_id", "=", accountId)
    .where("address", "in", [...addresses])
    .execute();
  return new Map(rows.map((row) => [Buffer.from(row.address).toString("hex"), seenOf(row)]));
}

function fits(item: ListedAddress, query: AddressFilter): boolean {
  const { state, token, chainId, reference, createdFrom, createdUntil } = query;
  if (state !== undefined && item.state !== state) return false;
  if (token !== undefined && !token.equals(tokenOf(item.termsHead))) return false;
  if (chainId !== undefined && chainId !== chainIdOf(item.termsHead)) return false;
  if (reference !== undefined && item.reference !== reference) return false;
  if (createdFrom !== undefined && item.createdAtMs < createdFrom) return false;
  return createdUntil === undefined || item.createdAtMs < createdUntil;
}
