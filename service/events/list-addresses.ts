// Lists an account's addresses that match the filters. Scans an index in the order of the list.
// Each step scans a window, which is a limited number of rows. For each window, one statement reads
// the keys. Another statement reads the rows that match the filters. SQLite runs one statement at a
// time. A single statement over a million rows would therefore delay all other statements for
// seconds.

import type { Hex } from "executable-address";
import type { AddressState, BlockReference } from "executable-address/status";
import { type Kysely, sql } from "kysely";
import { deriveRequested, foldReference } from "../store/columns.ts";
import {
  byClientId,
  type CreatedBy,
  createdAt,
  joinReference,
  type Named,
  owners,
  readNamed,
  recordsFor,
  references,
} from "../store/owners.ts";
import type { Tables } from "../store/tables.ts";
import { type ReadQueue, withoutQueue } from "./list.ts";

type AddressFilter = {
  state?: string | undefined;
  /** 20 bytes. */
  token?: Buffer | undefined;
  chainId?: number | undefined;
  /** The first and last address, both inclusive, 20 bytes each. */
  addresses?: { from: Buffer; to: Buffer } | undefined;
  /** A reference that was set with an API key. */
  reference?: string | undefined;
  /**
   * A reference that was set with a client ID. A client ID is public, so the reference is not
   * verified.
   */
  claimedReference?: string | undefined;
  createdBy?: CreatedBy | undefined;
  /** A part of the reference or of the claimed reference, in uppercase or lowercase. */
  referenceContains?: string | undefined;
  /** `…FromMs` is inclusive, and `…UntilMs` is exclusive. */
  createdFromMs?: number | undefined;
  createdUntilMs?: number | undefined;
  settledFromMs?: number | undefined;
  settledUntilMs?: number | undefined;
};

export type AddressQuery = AddressFilter & {
  accountId: string;
  /**
   * The order of the rows. Rows are sorted by settlement time if the query filters by it.
   * Otherwise, rows are sorted by creation time.
   */
  order: "newest" | "oldest";
  /** The page starts after this row. */
  cursor?: Cursor | undefined;
  limit: number;
  nowMs: number;
  /**
   * Queues the reads of the list, one window (a limited number of rows) at a time. If `turn`
   * returns undefined, the list ends early.
   */
  turn?: ReadQueue;
};

/** A row's position in the list. `address` has 20 bytes. */
export type Cursor = { atMs: number; address: Buffer };

export type ListedAddress = Named & {
  address: Buffer;
  createdAtMs: number;
  chainId: number;
  /** 20 bytes. */
  token: Buffer;
  /** In base units, decimal. */
  amount: string;
  /** The amount that a payer is asked to pay, in base units. */
  requestedAmount: string;
  /** Unix seconds. */
  expirationSeconds: number;
  state: AddressState;
  block: BlockReference | null;
  transactionHash: Hex | null;
  settledAtMs: number | null;
};

/**
 * The maximum number of rows in a window. The number is small, because each row can require a
 * separate read from the disk.
 */
const windowRowsMax = 250;

/**
 * The minimum age of the rows in a list that starts with the oldest row. A row's time is set before
 * the row is committed. Without a minimum age, a client could miss a row that becomes visible late.
 */
export const settleMs = 15_000;

type AddressList = { items: ListedAddress[]; next: Cursor | undefined };

/**
 * Returns a page of up to `limit` addresses, and the cursor of the next page, if any. With the
 * oldest rows first, there is always a cursor, because new rows can follow.
 */
export async function listAddresses(db: Kysely<Tables>, query: AddressQuery): Promise<AddressList> {
  const { limit, order, turn = withoutQueue } = query;
  const found: Found[] = [];
  let cursor = query.cursor;
  // The first window is as large as the page. If few rows match the filters, the next windows are
  // larger.
  for (let rows = limit + 1; ; rows = Math.min(4 * rows, windowRowsMax)) {
    const window = await turn(() => readWindow(db, { ...query, cursor }, rows));
    found.push(...(window?.found ?? []));
    const page = found.slice(0, limit);
    const items = page.map(({ item }) => item);
    if (found.length > limit) return { items, next: page.at(-1)!.key };
    cursor = window?.last ?? cursor;
    if (!window || window.isEnd) return { items, next: order === "oldest" ? cursor : undefined };
  }
}

/** Returns one address (20 bytes), or undefined if the account has not created it. */
export async function findListed(
  db: Kysely<Tables>,
  { address, ...query }: { accountId: string; address: Buffer; nowMs: number },
): Promise<ListedAddress | undefined> {
  const addresses = { from: address, to: address };
  const { items } = await listAddresses(db, { ...query, addresses, order: "newest", limit: 1 });
  return items[0];
}

type Found = { key: Cursor; item: ListedAddress };

/** Scans the next `rows` rows after the cursor. `last` is the position of the last scanned row. */
async function readWindow(db: Kysely<Tables>, query: AddressQuery, rows: number) {
  const keys = await readKeys(db, query, rows);
  const items = keys.length === 0 ? new Map() : await readItems(db, query, keys);
  const found = keys.flatMap((key): Found[] => {
    const item = items.get(key.address.toString("hex"));
    return item ? [{ key, item }] : [];
  });
  return { found, last: keys.at(-1), isEnd: keys.length < rows };
}

type Sql = ReturnType<typeof sql>;

async function readKeys(db: Kysely<Tables>, query: AddressQuery, rows: number): Promise<Cursor[]> {
  const { order, cursor, nowMs } = query;
  const { time, from, times } = chooseWalk(query);
  const isNewest = order === "newest";
  const [direction, after] = isNewest ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
  // In a query on a view, SQLite can use the index for a range of times, but not to compare the
  // pair (time, address). So the cursor's time is also the start or the end of the range, depending
  // on the order.
  const least = isNewest ? times.from : Math.max(times.from, cursor?.atMs ?? 0);
  const end = isNewest ? (cursor?.atMs ?? times.until) + 1 : nowMs - settleMs;
  const at = sql.ref(`a.${time}`);
  const afterCursor = cursor
    ? sql`and (${at}, a.address) ${after} (${cursor.atMs}, ${cursor.address})`
    : sql``;
  const keys = await sql<{ at: number; address: Uint8Array }>`
    select ${at} as at, a.address from ${from}
      and ${at} >= ${least} and ${at} < ${Math.min(times.until, end)} ${afterCursor}
    order by ${at} ${direction}, a.address ${direction} limit ${rows}`.execute(db);
  return keys.rows.map((row) => ({ atMs: Number(row.at), address: Buffer.from(row.address) }));
}

/**
 * The rows to scan, and the time column by which they are sorted. If a filter has an index, only
 * the rows that match this filter are scanned.
 */
type Walk = {
  from: Sql;
  time: "created_at" | "settled_at";
  /** Unix milliseconds. `from` is inclusive, and `until` is exclusive. */
  times: { from: number; until: number };
};

function chooseWalk(query: AddressQuery): Walk {
  const { accountId, settledFromMs, settledUntilMs, state, addresses } = query;
  const reference = query.reference ?? query.claimedReference;
  const own = sql`a.account_id = ${accountId}`;
  const bound = (from = 0, until = Number.MAX_SAFE_INTEGER) => ({ from, until });
  if (settledFromMs !== undefined || settledUntilMs !== undefined) {
    const times = bound(settledFromMs, settledUntilMs);
    return { time: "settled_at", times, from: sql`watches a where ${own}` };
  }
  const times = bound(query.createdFromMs, query.createdUntilMs);
  const byCreation = (from: Sql): Walk => ({ time: "created_at", times, from });
  if (reference !== undefined) {
    return byCreation(sql`${references} a where ${own} and a.reference = ${reference}`);
  }
  if (addresses?.from.equals(addresses.to)) {
    return byCreation(sql`${owners} a where ${own} and a.address = ${addresses.from}`);
  }
  // `watches` has no row for an address that never received money. So for the states `unfunded` and
  // `expired`, all addresses are scanned.
  if (state !== undefined && state !== "unfunded" && state !== "expired") {
    return byCreation(sql`watches a where ${own} and a.state = ${state}`);
  }
  return byCreation(sql`${owners} a where ${own}`);
}

type Row = {
  address: Uint8Array;
  created_at: number;
  chain_id: number;
  token: Uint8Array;
  amount: string;
  terms: Uint8Array;
  expires_at: number;
  reference: string | null;
  by_client_id: number | null;
  state: AddressState;
  block_number: number | null;
  block_hash: Hex | null;
  block_time: number | null;
  transaction_hash: Hex | null;
  settled_at: number | null;
};

/** Returns the rows of `keys` that match the filters. The map's keys are the addresses in hex. */
async function readItems(
  db: Kysely<Tables>,
  query: AddressQuery,
  keys: readonly Cursor[],
): Promise<Map<string, ListedAddress>> {
  const account = sql`${query.accountId}`;
  const state = selectState(query.nowMs);
  const created = createdAt(account);
  const addresses = sql.join(keys.map(({ address }) => address));
  const isOnPage = sql`r.address in (${addresses})`;
  const conditions = [isOnPage, ...writeConditions(query, { state, created })];
  const { rows } = await sql<Row>`
    select r.address, r.chain_id, r.token, r.amount, r.expires_at, r.terms, n.reference,
      ${byClientId(account)} as by_client_id, ${created} as created_at, ${state} as state,
      w.block_number, w.block_hash, w.block_time, w.transaction_hash, w.settled_at
    from ${recordsFor(account)}
      left join watches w on w.account_id = ${account} and w.address = r.address
      ${joinReference(account, sql`r.address`)}
    where ${sql.join(conditions, sql` and `)}`.execute(db);
  return new Map(rows.map((row) => [Buffer.from(row.address).toString("hex"), toItem(row)]));
}

/**
 * Returns SQL for an address's state. The observer does not watch addresses without payments. For
 * these addresses, this host's clock decides whether they are expired.
 */
const selectState = (nowMs: number) => sql`case
  when coalesce(w.state, 'unfunded') <> 'unfunded' then w.state
  when r.expires_at < ${Math.ceil(nowMs / 1000)} then 'expired' else 'unfunded' end`;

/**
 * Returns SQL for all filters except settlement times, which only {@link chooseWalk} applies.
 *
 * The conditions on references use `coalesce`. Otherwise, PostgreSQL might read all the account's
 * references for each window before it reads other tables.
 */
function writeConditions(query: AddressQuery, { state, created }: { state: Sql; created: Sql }) {
  const { token, chainId, addresses, referenceContains } = query;
  const byClient = byClientId(sql`${query.accountId}`);
  const isNamed = (reference: string, by: 0 | 1) =>
    sql`coalesce(n.reference, '') = ${reference} and coalesce(n.by_client_id, -1) = ${by}`;
  const when = <Value>(value: Value | undefined, write: (value: Value) => Sql) =>
    value === undefined ? [] : [write(value)];
  return [
    ...when(token, (token) => sql`r.token = ${token}`),
    ...when(chainId, (chainId) => sql`r.chain_id = ${chainId}`),
    ...when(addresses, ({ from, to }) => sql`r.address between ${from} and ${to}`),
    ...when(query.state, (wanted) => sql`${state} = ${wanted}`),
    ...when(query.reference, (reference) => isNamed(reference, 0)),
    ...when(query.claimedReference, (claimed) => isNamed(claimed, 1)),
    ...when(query.createdBy, (by) => sql`${byClient} = ${by === "client_id" ? 1 : 0}`),
    ...when(
      referenceContains,
      (part) => sql`coalesce(n.folded, '') like ${writePattern(part)} escape '\\'`,
    ),
    ...when(query.createdFromMs, (from) => sql`${created} >= ${from}`),
    ...when(query.createdUntilMs, (until) => sql`${created} < ${until}`),
  ];
}

/** Returns a LIKE pattern for texts that contain `part`. Escapes the wildcards in `part`. */
const writePattern = (part: string) => `%${foldReference(part).replace(/[\\%_]/g, "\\$&")}%`;

function toItem(row: Row): ListedAddress {
  const { block_number: number, block_hash: hash, block_time: timestamp } = row;
  return {
    address: Buffer.from(row.address),
    createdAtMs: Number(row.created_at),
    chainId: Number(row.chain_id),
    token: Buffer.from(row.token),
    amount: row.amount,
    requestedAmount: deriveRequested(row),
    expirationSeconds: Number(row.expires_at),
    ...readNamed(row),
    state: row.state,
    block:
      number === null || hash === null
        ? null
        : { number: Number(number), hash, timestamp: Number(timestamp) },
    transactionHash: row.transaction_hash,
    settledAtMs: row.settled_at === null ? null : Number(row.settled_at),
  };
}
