// The store in PostgreSQL: many servers, one truth.
//
// Requests that arrive together share a round trip each way: one `= ANY` read, one `unnest` insert
// whose single statement is its own transaction. Rows are sorted, so that two servers inserting the
// same keys wait for each other and never in a circle.

import { factoryAddress } from "executable-address";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { type Together, together } from "../flow/together.ts";
import { columnsOf } from "./columns.ts";
import { keccak } from "./keccak.ts";
import { migrate, type Rooms } from "./migrate.ts";
import { heldRecordJson } from "./record-json.ts";
import {
  type KeyedQuery,
  type KeyedReader,
  type NewRecord,
  otherTerms,
  type Saved,
  type Store,
  termsByAddress,
  UnavailableError,
} from "./store.ts";
import type { Tables } from "./tables.ts";

/** Rows of one insert. */
const insertSizeMax = 512;
/** Keys of one read, and reads of a kind under way: this server works while PostgreSQL does. */
const readSizeMax = 32;
const readsRunningMax = 2;
const connectionsMax = 10;
const connectMsMax = 5_000;
const statementMsMax = 10_000;
const int8Oid = 20;

/** @param url `postgres://…`; the role may create tables */
export async function openPostgres(url: string, rooms: Rooms): Promise<Store> {
  const pool = connect(url);
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: {
        options: pool.options,
        connect: () => available(pool.connect()),
        end: () => pool.end(),
      },
    }),
  });
  try {
    await assertDurable(pool);
    await migrate(db, "postgres", rooms);
  } catch (error) {
    await db.destroy();
    throw error;
  }

  const save = together(recordWriter(pool), { sizeMax: insertSizeMax });
  const reads: Together<Uint8Array, unknown[]>[] = [];
  const readerOf = <Row>(query: KeyedQuery): KeyedReader<Row> => {
    const read = readTogether<Row>(pool, query);
    reads.push(read);
    return read;
  };
  const parts = { factory: factoryAddress, keccak };
  const terms = readerOf<{ terms: Buffer }>(termsByAddress);

  return {
    dialect: "postgres",
    saveRecord: save,
    findTerms: async (address) => (await terms(address))[0]?.terms,
    async findRecord(address) {
      const [row] = await terms(address);
      return row && heldRecordJson(address, row.terms, parts);
    },
    readerOf,
    prepared: async (statement) => (await available(pool.query(statement))).rows,
    db,
    async check() {
      await available(pool.query("select 1"));
    },
    async close() {
      await Promise.all([save, ...reads].map((group) => group.idle()));
      await db.destroy();
    },
  };
}

function connect(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMsMax,
    query_timeout: statementMsMax,
    application_name: "executable-address",
    // Anything less than a warning stays away: a notice on a write then says it may not be durable.
    options: "-c client_min_messages=warning",
    // Our integers are milliseconds and counts, all below 2^53.
    types: {
      getTypeParser: ((oid: number, format?: "text") =>
        oid === int8Oid ? Number : pg.types.getTypeParser(oid, format)) as never,
    },
  });
  // A connection that breaks is replaced; requests that need it learn by their own query. The pool
  // hears only of idle ones: one in use, such as a transaction's between two statements, tells
  // itself, and an error event that nobody hears ends the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Refuses a server that answers a commit before it is on disk. */
async function assertDurable(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ synchronous_commit: string }>("show synchronous_commit");
  if (rows[0]?.synchronous_commit !== "off") return;
  throw new Error(
    "synchronous_commit is off on this PostgreSQL, which loses acknowledged rows; wanted on",
  );
}

function recordWriter(pool: pg.Pool) {
  return async (rows: NewRecord[]): Promise<Saved[]> => {
    const sorted = rows.toSorted((a, b) => Buffer.compare(a.address, b.address));
    const columns = sorted.map((row) => columnsOf(row.terms));
    const inserted = await insert(pool, "save-records", insertRecords, [
      sorted.map((row) => row.address),
      sorted.map((row) => row.terms),
      columns.map(({ chainId }) => chainId),
      columns.map(({ token }) => token),
      columns.map(({ amount }) => amount),
      columns.map(({ expiresAt }) => expiresAt),
      sorted.map((row) => row.accountId),
      sorted.map((row) => row.createdAtMs),
      sorted.map((row) => (row.isClientId ? 1 : 0)),
    ]);
    return inserted === rows.length ? [] : settleHeld(pool, sorted, rows);
  };
}

type Held = { address: Buffer; terms: Buffer; accountId: string };

/**
 * Settles rows some of which were there before: an address must have the very terms that were now
 * sent for it, and an account that is not its first owner becomes a later one.
 */
async function settleHeld(pool: pg.Pool, sorted: NewRecord[], rows: NewRecord[]): Promise<Saved[]> {
  const held = await available(
    pool.query<Held>(
      `select address, terms, account_id as "accountId" from records
         where address = any($1::bytea[])`,
      [rows.map((row) => row.address)],
    ),
  );
  const heldAt = new Map(held.rows.map((row) => [row.address.toString("hex"), row]));
  const heldFor = ({ address }: NewRecord) => heldAt.get(Buffer.from(address).toString("hex"));
  const isSame = (row: NewRecord) => heldFor(row)?.terms.equals(row.terms) ?? false;
  const later = sorted.filter((row) => isSame(row) && heldFor(row)?.accountId !== row.accountId);
  if (later.length > 0) {
    await insert(pool, "save-later-owners", insertLaterOwners, [
      later.map((row) => row.accountId),
      later.map((row) => row.address),
      later.map((row) => row.createdAtMs),
      later.map((row) => (row.isClientId ? 1 : 0)),
    ]);
  }
  return rows.map((row) => (isSame(row) ? undefined : otherTerms(row.address)));
}

/** No other statement takes this lock. */
const numbersLock = 1;

/**
 * One insert at a time draws numbers, on all servers. PostgreSQL releases the lock when the rows
 * are visible, so a reader that has seen a number never misses a lower one.
 */
const insertRecords = `
  with turn as materialized (select pg_advisory_xact_lock(${numbersLock}))
  insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
    created_at, by_client_id)
  select row.* from turn, unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[], $5::text[],
    $6::bigint[], $7::text[], $8::bigint[], $9::smallint[]) as row
  on conflict do nothing`;

const insertLaterOwners = `
  insert into later_owners (account_id, address, created_at, by_client_id)
  select * from unnest($1::text[], $2::bytea[], $3::bigint[], $4::smallint[])
  on conflict do nothing`;

/**
 * One statement, one transaction, one round trip.
 * @returns how many rows were new
 * @throws {UnavailableError} when it failed, and when PostgreSQL gave up waiting for its standby:
 *   the rows may be lost with the primary, and nobody can tell
 */
async function insert(
  pool: pg.Pool,
  name: string,
  text: string,
  values: unknown[][],
): Promise<number> {
  const client = await available(pool.connect());
  let warning: string | undefined;
  const onNotice = (notice: { message?: string | undefined }) => {
    warning = notice.message ?? "a warning without words";
  };
  client.on("notice", onNotice);
  let isBroken = true;
  try {
    const { rowCount } = await available(client.query({ name, text, values }));
    isBroken = false;
    if (warning) throw new UnavailableError(`not known to be durable: ${warning}`);
    return rowCount ?? 0;
  } finally {
    client.off("notice", onNotice);
    client.release(isBroken); // one that timed out may still be at its statement
  }
}

/** One round trip for all keys of a group. */
function readTogether<Row>(pool: pg.Pool, { name, postgres }: KeyedQuery) {
  return together<Uint8Array, Row[]>(
    async (keys) => {
      const { rows } = await available(
        pool.query<Row & { key: Buffer }>({ name, text: postgres, values: [keys] }),
      );
      const found = Map.groupBy(rows, ({ key }) => key.toString("latin1"));
      return keys.map((key) => found.get(Buffer.from(key).toString("latin1")) ?? []);
    },
    { sizeMax: readSizeMax, runningMax: readsRunningMax },
  );
}

/** Whatever a query fails with, its answer is not known: nothing may be acknowledged. */
async function available<Result>(query: Promise<Result>): Promise<Result> {
  try {
    return await query;
  } catch (cause) {
    if (cause instanceof UnavailableError) throw cause;
    throw new UnavailableError(`PostgreSQL: ${(cause as Error).message}`, { cause });
  }
}
