// Lists the addresses of an account by filters. A statement walks one index and asks of a window of
// its rows whether they fit, since on SQLite all statements but creates and look-ups wait for each
// other, and one that walks a million rows would hold them up for seconds. A page that is not full
// is the last.

import type { Hex } from "executable-address";
import type { AddressState, BlockReference } from "executable-address/status";
import { type Kysely, sql } from "kysely";
import { atOnce, type Turn } from "../flow/gate.ts";
import { foldReference } from "../store/columns.ts";
import { createdAt, joinRecord, owners } from "../store/owned.ts";
import {
  byClientId,
  type CreatedBy,
  createdByOf,
  joinReference,
  references,
} from "../store/references.ts";
import type { Tables } from "../store/tables.ts";

type AddressFilter = {
  state?: string | undefined;
  /** 20 bytes. */
  token?: Buffer | undefined;
  chainId?: number | undefined;
  /** Both inclusive, 20 bytes each. */
  addresses?: { from: Buffer; to: Buffer } | undefined;
  reference?: string | undefined;
  /** In any letter case. */
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
  /** Each window is read in it; the search ends where it gives nothing. */
  turn?: Turn;
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
  /** Unix seconds. */
  expiresAt: number;
  reference: string | null;
  createdBy: CreatedBy;
  state: AddressState;
  block: BlockReference | null;
  transactionHash: Hex | null;
  settledAtMs: number | null;
};

/** Each row may lie on pages of its own. */
const windowRowsMax = 250;

/**
 * Oldest first, what is younger than this is not shown yet: rows get their time before they are
 * committed, and one that appeared behind a cursor would be skipped.
 */
const settleMs = 15_000;

type AddressList = { items: ListedAddress[]; next: Cursor | undefined };

/** Windows begin as small as the page, and grow while few rows fit. */
export async function listAddresses(db: Kysely<Tables>, query: AddressQuery): Promise<AddressList> {
  const { limit, turn = atOnce } = query;
  const found: Row[] = [];
  let cursor = query.cursor;
  for (let size = limit + 1; ; size = Math.min(4 * size, windowRowsMax)) {
    const read = () => readWindow(db, { ...query, cursor }, size, limit + 1 - found.length);
    const rows = (await turn(read)) ?? [];
    found.push(...rows.filter(({ fits }) => fits));
    if (found.length > limit) break;
    const last = rows.at(-1);
    if (last) cursor = cursorOf(last);
    // Oldest first, what is added later comes behind what was read, so one can always go on.
    const next = query.order === "oldest" ? cursor : undefined;
    if (Number(last?.walked ?? 0) < size) return { items: found.map(itemOf), next };
  }
  const page = found.slice(0, limit);
  return { items: page.map(itemOf), next: cursorOf(page.at(-1)!) };
}

/** One address of the account; undefined where it has not created it. @param address 20 bytes */
export async function findListed(
  db: Kysely<Tables>,
  { address, ...asked }: { accountId: string; address: Buffer; nowMs: number },
): Promise<ListedAddress | undefined> {
  const addresses = { from: address, to: address };
  const { items } = await listAddresses(db, { ...asked, addresses, order: "newest", limit: 1 });
  return items[0];
}

const cursorOf = ({ walk_at, address }: Row): Cursor => ({
  atMs: Number(walk_at),
  address: Buffer.from(address),
});

type Sql = ReturnType<typeof sql>;

/** The rows to walk, by an index that few others share, and the time they are in order of. */
function walkOf(query: AddressQuery): { at: string; from: Sql } {
  const { accountId, settledFrom, settledUntil, reference, state, addresses } = query;
  const mine = sql`a.account_id = ${accountId}`;
  if (settledFrom !== undefined || settledUntil !== undefined) {
    return { at: "settled_at", from: sql`watches a where ${mine}` };
  }
  const from = (rows: Sql) => ({ at: "created_at", from: rows });
  if (reference !== undefined) {
    return from(sql`${references} a where ${mine} and a.reference = ${reference}`);
  }
  if (addresses?.from.equals(addresses.to)) {
    return from(sql`${owners} a where ${mine} and a.address = ${addresses.from}`);
  }
  // Nothing is kept of an address that never received money, so these two states walk all.
  if (state !== undefined && state !== "unfunded" && state !== "expired") {
    return from(sql`watches a where ${mine} and a.state = ${state}`);
  }
  return from(sql`${owners} a where ${mine}`);
}

type Row = {
  address: Uint8Array;
  walk_at: number;
  /** How many rows the window has. */
  walked: number;
  fits: unknown;
  created_at: number;
  chain_id: number;
  token: Uint8Array;
  amount: string;
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

/**
 * The rows that fit of the next `size` of the walk, `limit` at most, and its last one, from which
 * to go on.
 */
async function readWindow(
  db: Kysely<Tables>,
  query: AddressQuery,
  size: number,
  limit: number,
): Promise<Row[]> {
  const { accountId, order, cursor, nowMs } = query;
  const account = sql`${accountId}`;
  const walk = walkOf(query);
  const [from = 0, until = Number.MAX_SAFE_INTEGER] =
    walk.at === "settled_at"
      ? [query.settledFrom, query.settledUntil]
      : [query.createdFrom, query.createdUntil];
  const isNewest = order === "newest";
  // The cursor stands in the bounds too: only by one range of times is a view's index entered.
  const least = isNewest ? from : Math.max(from, cursor?.atMs ?? 0);
  const latest = Math.min(until, isNewest ? (cursor?.atMs ?? until) + 1 : nowMs - settleMs);
  const at = sql.ref(`a.${walk.at}`);
  const [way, back, behind] = (isNewest ? ["desc", "asc", "<"] : ["asc", "desc", ">"]).map((word) =>
    sql.raw(word),
  );
  const afterCursor = cursor
    ? sql`and (${at}, a.address) ${behind} (${cursor.atMs}, ${cursor.address})`
    : sql``;
  // Not by the view of owners: SQLite joined all records of the account to a page of them.
  const { rows } = await sql<Row>`
    with page as (select a.address, ${at} as walk_at from ${walk.from}
      and ${at} >= ${least} and ${at} < ${latest} ${afterCursor}
      order by ${at} ${way}, a.address ${way} limit ${size}),
    judged as (select page.address, page.walk_at, r.chain_id, r.token, r.amount,
        r.expires_at, n.reference, ${byClientId(account)} as by_client_id,
        ${createdAt(account)} as created_at,
        ${state(nowMs)} as state, w.block_number, w.block_hash, w.block_time, w.transaction_hash,
        w.settled_at, (${sql.join(conditionsOf(query), sql` and `)}) as fits
      from page ${joinRecord(account, sql`page.address`)}
        left join watches w on w.account_id = ${accountId} and w.address = page.address
        ${joinReference(account, sql`page.address`)})
    select *, (select count(*) from page) as walked from judged
    where fits or address = (select address from page
      order by walk_at ${back}, address ${back} limit 1)
    order by walk_at ${way}, address ${way} limit ${limit}`.execute(db);
  return rows;
}

/** An address without money is not observed again, so its expiry tells whether it has expired. */
const state = (nowMs: number) => sql`case
  when coalesce(w.state, 'unfunded') <> 'unfunded' then w.state
  when r.expires_at < ${Math.ceil(nowMs / 1000)} then 'expired' else 'unfunded' end`;

/** Gives the conditions that each row of a page meets; the walk met some already. */
function conditionsOf(query: AddressQuery): Sql[] {
  const { accountId, token, chainId, addresses, reference, referenceContains } = query;
  const created = createdAt(sql`${accountId}`);
  const when = <Value>(value: Value | undefined, of: (value: Value) => Sql) =>
    value === undefined ? [] : [of(value)];
  return [
    sql`true`,
    ...when(token, (token) => sql`r.token = ${token}`),
    ...when(chainId, (chainId) => sql`r.chain_id = ${chainId}`),
    ...when(addresses, ({ from, to }) => sql`page.address between ${from} and ${to}`),
    ...when(query.state, (asked) => sql`${state(query.nowMs)} = ${asked}`),
    ...when(reference, (reference) => sql`n.reference = ${reference}`),
    ...when(referenceContains, (part) => sql`n.folded like ${patternOf(part)} escape '\\'`),
    ...when(query.createdFrom, (from) => sql`${created} >= ${from}`),
    ...when(query.createdUntil, (until) => sql`${created} < ${until}`),
  ];
}

/** Matches what contains `part`, each character of which stands for itself. */
const patternOf = (part: string) => `%${foldReference(part).replace(/[\\%_]/g, "\\$&")}%`;

function itemOf(row: Row): ListedAddress {
  const { block_number: number, block_hash: hash, block_time: timestamp } = row;
  return {
    address: Buffer.from(row.address),
    createdAtMs: Number(row.created_at),
    chainId: Number(row.chain_id),
    token: Buffer.from(row.token),
    amount: row.amount,
    expiresAt: Number(row.expires_at),
    reference: row.reference,
    createdBy: createdByOf(row.by_client_id),
    state: row.state,
    block:
      number === null || hash === null
        ? null
        : { number: Number(number), hash, timestamp: Number(timestamp) },
    transactionHash: row.transaction_hash,
    settledAtMs: row.settled_at === null ? null : Number(row.settled_at),
  };
}
