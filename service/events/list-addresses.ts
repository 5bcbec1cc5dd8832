// Lists the addresses of an account by filters. Each statement walks one index and reads a bounded
// number of its rows, since on SQLite all statements but creates and look-ups wait for each other;
// where few rows fit, a page takes many statements. A page that is not full is the last, but where
// a part of a reference is searched for: no index helps that.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../store/tables.ts";
import { byClientId, type CreatedBy, createdByOf } from "./references.ts";

type AddressFilter = {
  state?: string | undefined;
  /** 20 bytes. */
  token?: Buffer | undefined;
  chainId?: number | undefined;
  /** Both inclusive, 20 bytes each. */
  addresses?: { from: Buffer; to: Buffer } | undefined;
  reference?: string | undefined;
  /** In lower case; it is compared here, since the databases fold letters each in its own way. */
  referenceContains?: string | undefined;
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
  /** Whether the asker has left: then the search ends, with whatever was found. */
  isGone?: () => boolean;
};

/** `address` 20 bytes. */
export type Cursor = { atMs: number; address: Buffer };

export type ListedAddress = {
  address: Buffer;
  createdAtMs: number;
  chainId: number;
  /** 20 bytes. */
  token: Buffer;
  /** In base units, decimal. */
  amount: string;
  reference: string | null;
  createdBy: CreatedBy;
  state: string;
  block: { number: number; hash: string; timestamp: number } | null;
  transactionHash: string | null;
  settledAtMs: number | null;
};

/** 100 rows and the one that tells of more. Each may lie on pages of its own. */
const stepRows = 101;

/**
 * So many rows are searched for a part of a reference before a page ends, full or not: some 0.3 s
 * of the 29 s that a million take on SQLite.
 */
const searchedRowsMax = 100 * stepRows;

/** The last search of each account: they take turns, so that others wait for one statement. */
const searches = new Map<string, Promise<unknown>>();
/**
 * Oldest first, what is younger than this is not shown yet: rows get their time before they are
 * committed, and one that appeared behind a cursor would be skipped.
 */
const settleMs = 15_000;

type AddressList = { items: ListedAddress[]; next: Cursor | undefined };

export async function listAddresses(db: Kysely<Tables>, query: AddressQuery): Promise<AddressList> {
  const walk = walkOf(query);
  if (walk.answers === filtersOf(query).length) return readPage(db, query, walk);
  const { accountId } = query;
  const turn = (searches.get(accountId) ?? Promise.resolve())
    .catch(() => {})
    .then(() => readPage(db, query, walk));
  searches.set(accountId, turn);
  try {
    return await turn;
  } finally {
    if (searches.get(accountId) === turn) searches.delete(accountId);
  }
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

async function readPage(db: Kysely<Tables>, query: AddressQuery, walk: Walk): Promise<AddressList> {
  const isWhole = walk.answers === filtersOf(query).length;
  const step = isWhole ? Math.min(query.limit + 1, stepRows) : stepRows;
  const items: ListedAddress[] = [];
  let last = query.cursor;
  let searched = 0;
  for (let cursor = last, isMore = true; isMore; ) {
    if (query.isGone?.()) break;
    const rows = await readRows(db, { ...query, cursor }, walk, step);
    for (const row of rows) {
      if (!fits(row, query)) continue;
      if (items.length === query.limit) return { items, next: last };
      items.push(itemOf(row, query.nowMs));
      last = cursorOf(row);
    }
    cursor = rows.length > 0 ? cursorOf(rows.at(-1)!) : cursor;
    isMore = rows.length === step;
    // Oldest first, what is added later comes behind what was read, so one can always go on.
    if (!isMore && query.order === "oldest") return { items, next: cursor };
    searched += rows.length;
    if (isMore && query.referenceContains !== undefined && searched >= searchedRowsMax) {
      return { items, next: cursor };
    }
  }
  return { items, next: undefined };
}

const cursorOf = ({ walk_at, address }: Row): Cursor => ({
  atMs: Number(walk_at),
  address: Buffer.from(address),
});

/** The filters that are set, but for the bounds of the walk itself. */
const filtersOf = (asked: AddressFilter) =>
  (["state", "token", "chainId", "reference", "referenceContains", "addresses"] as const).filter(
    (name) => asked[name] !== undefined,
  );

/** `answers` of the filters are met by every row of the walk. */
type Walk = { at: string; from: ReturnType<typeof sql>; answers: number };

function walkOf(query: AddressQuery): Walk {
  const { accountId, settledFrom, settledUntil, reference, state, addresses } = query;
  const mine = sql`a.account_id = ${accountId}`;
  if (settledFrom !== undefined || settledUntil !== undefined) {
    return { at: "settled_at", from: sql`watches a where ${mine}`, answers: 0 };
  }
  if (reference !== undefined) {
    const from = sql`address_references a where ${mine} and a.reference = ${reference}`;
    return { at: "created_at", from, answers: 1 };
  }
  if (addresses?.from.equals(addresses.to)) {
    const from = sql`owners a where ${mine} and a.address = ${addresses.from}`;
    return { at: "created_at", from, answers: 1 };
  }
  // Nothing is kept of an address that never received money, so these two states walk all.
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
  chain_id: number;
  token: Uint8Array;
  amount: string;
  expires_at: number;
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
    select page.address, page.walk_at, r.chain_id, r.token, r.amount, r.expires_at, n.reference,
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
  const { block_number: number, block_hash: hash, block_time: timestamp } = row;
  return {
    address: Buffer.from(row.address),
    createdAtMs: Number(row.created_at),
    chainId: Number(row.chain_id),
    token: Buffer.from(row.token),
    amount: row.amount,
    reference: row.reference,
    createdBy: createdByOf(row.by_client_id),
    state: stateOf(row, nowMs),
    block:
      number === null
        ? null
        : { number: Number(number), hash: hash ?? "", timestamp: Number(timestamp ?? 0) },
    transactionHash: row.transaction_hash,
    settledAtMs: row.settled_at === null ? null : Number(row.settled_at),
  };
}

/** An address without money is not observed again, so its expiry tells whether it has expired. */
function stateOf({ state, expires_at }: Row, nowMs: number): string {
  const seen = state ?? "unfunded";
  return seen === "unfunded" && Number(expires_at) * 1000 < nowMs ? "expired" : seen;
}

function fits(row: Row, query: AddressQuery): boolean {
  const { state, token, chainId, addresses, reference, createdFrom, createdUntil } = query;
  const { referenceContains: part } = query;
  if (state !== undefined && stateOf(row, query.nowMs) !== state) return false;
  if (token !== undefined && !token.equals(row.token)) return false;
  if (chainId !== undefined && chainId !== Number(row.chain_id)) return false;
  if (addresses && Buffer.compare(row.address, addresses.from) < 0) return false;
  if (addresses && Buffer.compare(row.address, addresses.to) > 0) return false;
  if (reference !== undefined && row.reference !== reference) return false;
  if (part !== undefined && !row.reference?.toLowerCase().includes(part)) return false;
  if (createdFrom !== undefined && Number(row.created_at) < createdFrom) return false;
  return createdUntil === undefined || Number(row.created_at) < createdUntil;
}
