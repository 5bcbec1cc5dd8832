// The PostgreSQL database, which several servers share.
//
// Simultaneous lookups share one query with `= any(…)`. Simultaneous create requests share one call
// of `save_records` or `save_named_records`. Each call is a transaction with a single statement.
// Lookups and create requests have their own connection pool, so that list requests and background
// work cannot exhaust it.
//
// PostgreSQL can be stuck because of a lock, a disk, or a network that drops packets. So each wait
// has two limits: one in the client (this service), and one in the PostgreSQL server. When a wait
// exceeds the client's limit, the request fails. When a wait exceeds the server's limit, PostgreSQL
// ends the statement or the transaction. Without the server's limit, PostgreSQL would keep the
// locks after the client has disconnected.

import { Kysely, PostgresDialect, type PostgresPoolClient } from "kysely";
import pg from "pg";
import { type Together, together } from "../flow/together.ts";
import { withTimeout } from "../flow/wait.ts";
import { deriveColumns, foldReference } from "./columns.ts";
import { lockNotAvailable, migrate, type Rooms } from "./migrate.ts";
import { ownFactory, storedRecordJson } from "./record.ts";
import {
  type CorruptError,
  type KeyedQuery,
  type KeyedReader,
  type NewRecord,
  otherTerms,
  type SaveOutcome,
  type Store,
  termsByAddress,
  UnavailableError,
} from "./store.ts";
import type { Tables } from "./tables.ts";

/** The maximum number of records per statement. */
const groupSizeMax = 512;
/**
 * `readSizeMax` is the maximum number of keys in a query. `readsRunningMax` is the maximum number
 * of simultaneous queries with the same SQL. The service processes one result while PostgreSQL
 * executes the next query.
 */
const readSizeMax = 32;
const readsRunningMax = 2;
/** The maximum number of connections for create requests, lookups, credentials, and rate limits. */
const hotConnectionsMax = 6;
/**
 * The maximum number of connections for lists, the executor, webhooks, and all other work that
 * {@link hotConnectionsMax} does not include.
 */
const connectionsMax = 8;
const connectMsMax = 3_000;
/**
 * The maximum duration of a statement. Also the maximum idle time between two statements of a
 * transaction.
 */
const statementMsMax = 10_000;
/** The maximum duration of a migration's statement, such as the creation of a large index. */
const migrationMsMax = 3_600_000;
/**
 * The time by which the client's timeout exceeds the server's timeout, so that the client receives
 * the server's error.
 */
const errorMsMax = 500;
/**
 * The maximum time for which a statement waits for a lock. After this time, PostgreSQL cancels the
 * statement, and the statement's transaction saves nothing.
 */
const lockMsMax = 3_000;
/**
 * The maximum duration of a create request or a lookup, including its wait for earlier requests.
 * After this time, the request fails. The request's statement is not canceled, because a canceled
 * statement may still have been committed.
 */
const answerMsMax = 5_000;
const int8Oid = 20;
/**
 * PostgreSQL's error code (SQLSTATE) for a statement that ran longer than {@link statementMsMax}.
 */
const queryCanceled = "57014";
const timeouts = new Set([lockNotAvailable, queryCanceled]);

/** @param url `postgres://…`; the role must be able to create tables */
export async function openPostgres(url: string, rooms: Rooms): Promise<Store> {
  await migrateOnce(url, rooms);
  const pool = connect(url, { connectionsMax: hotConnectionsMax });
  const otherPool = connect(url, { connectionsMax });
  const db = openKysely(otherPool);

  // Records without a reference are saved separately. A lock on the table of references does not
  // delay these records.
  const savePlain = together(recordWriter(pool, savePlainGroup), { sizeMax: groupSizeMax });
  const saveNamed = together(recordWriter(pool, saveNamedGroup), { sizeMax: groupSizeMax });
  const reads: Together<Uint8Array, unknown[]>[] = [];
  const readerOf = <Row>(query: KeyedQuery): KeyedReader<Row> => {
    const read = readTogether<Row>(pool, query);
    reads.push(read);
    return (key) => inTime(read(key));
  };
  const terms = readerOf<{ terms: Buffer }>(termsByAddress);

  return {
    dialect: "postgres",
    saveRecord: (row) => inTime(row.reference === undefined ? savePlain(row) : saveNamed(row)),
    findTerms: async (address) => (await terms(address))[0]?.terms,
    async findRecord(address) {
      const [row] = await terms(address);
      return row && storedRecordJson(address, row.terms, ownFactory);
    },
    readerOf,
    prepared: async (statement) => (await inTime(available(pool.query(statement)))).rows,
    db,
    async check() {
      await available(pool.query("select 1"));
    },
    async close() {
      await Promise.all([savePlain, saveNamed, ...reads].map((group) => group.idle()));
      await Promise.all([db.destroy(), pool.end()]);
      // Kysely ends its pool only if Kysely has used it.
      if (!otherPool.ending) await otherPool.end();
    },
  };
}

/**
 * Runs the migrations on a separate connection, because a migration's statement may take an hour.
 */
async function migrateOnce(url: string, rooms: Rooms): Promise<void> {
  const pool = connect(url, { connectionsMax: 1, msMax: migrationMsMax });
  const db = openKysely(pool);
  try {
    await assertDurable(pool);
    await migrate(db, "postgres", rooms);
  } finally {
    await db.destroy();
  }
}

function openKysely(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({
      pool: {
        options: pool.options,
        connect: () => connectForKysely(pool),
        end: () => pool.end(),
      },
    }),
  });
}

type PoolOptions = {
  connectionsMax: number;
  /** The maximum duration of a statement, in milliseconds. */
  msMax?: number;
};

function connect(url: string, { connectionsMax, msMax = statementMsMax }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMsMax,
    query_timeout: msMax + errorMsMax,
    application_name: "executable-address",
    // With `client_min_messages`, PostgreSQL sends only warnings and errors. A warning during a
    // write means that the write may not be durable.
    options:
      `-c client_min_messages=warning -c lock_timeout=${lockMsMax} -c statement_timeout=${msMax} ` +
      `-c idle_in_transaction_session_timeout=${statementMsMax}`,
    // Every integer in the database is below 2^53, so a JavaScript number can represent it.
    types: {
      getTypeParser: ((oid: number, format?: "text") =>
        oid === int8Oid ? Number : pg.types.getTypeParser(oid, format)) as never,
    },
  });
  // When a connection breaks, its queries fail, and the pool replaces the connection. The listeners
  // do nothing, but Node ends the process if an error event has no listener. The pool emits only
  // the errors of idle clients, so each client needs a listener too.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/**
 * Returns a connection whose queries throw {@link UnavailableError} if PostgreSQL does not respond.
 * In this case, the connection is closed without a rollback. A rollback would wait for the running
 * statement.
 */
async function connectForKysely(pool: pg.Pool): Promise<PostgresPoolClient> {
  const client = await available(pool.connect());
  let fault: unknown;
  const query = async (text: string, parameters: readonly unknown[]) => {
    if (fault) return available(Promise.reject(fault));
    try {
      return await client.query(text, [...parameters]);
    } catch (error) {
      const { code = "" } = error as { code?: string };
      const isOfStatement = /^[0-9A-Z]{5}$/.test(code);
      if (!isOfStatement) fault = error;
      const isOver = timeouts.has(code) || code.startsWith("57P");
      if (isOfStatement && !isOver) throw error;
      return available(Promise.reject(error));
    }
  };
  // In Kysely's type, `query` can also take a cursor, which the service does not use.
  const typed = query as unknown as PostgresPoolClient["query"];
  return { query: typed, release: () => client.release(fault !== undefined) };
}

/** Throws if PostgreSQL is configured to confirm commits before they are on disk. */
async function assertDurable(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ synchronous_commit: string }>("show synchronous_commit");
  if (rows[0]?.synchronous_commit !== "off") return;
  throw new Error(
    "synchronous_commit is off on this PostgreSQL server, so committed rows can be lost; " +
      "expected on",
  );
}

function recordWriter(pool: pg.Pool, { name, text, valuesOf }: SaveStatement) {
  return async (rows: NewRecord[]): Promise<(SaveOutcome | CorruptError)[]> => {
    const outcomes: (SaveOutcome | CorruptError)[] = rows.map(() => "saved");
    const exceptions = await save(pool, { name, text, values: valuesOf(rows) });
    for (const { place, outcome, usedBy } of exceptions) {
      const index = place - 1;
      if (outcome === "other_terms") outcomes[index] = otherTerms(rows[index]!.address);
      else outcomes[index] = outcome === "held" ? { usedBy: usedBy! } : outcome;
    }
    return outcomes;
  };
}

type SaveStatement = { name: string; text: string; valuesOf(rows: NewRecord[]): unknown[][] };

const savePlainGroup: SaveStatement = {
  name: "save-records",
  text: `select place, outcome, null as "usedBy"
    from save_records($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
  valuesOf: recordColumns,
};

const saveNamedGroup: SaveStatement = {
  name: "save-named-records",
  text: `select place, outcome, holder as "usedBy"
    from save_named_records($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  valuesOf: (rows) => [
    ...recordColumns(rows),
    rows.map(({ reference }) => reference),
    rows.map(({ reference }) => reference && foldReference(reference)),
    rows.map(({ isAgain }) => (isAgain ? 1 : 0)),
  ],
};

function recordColumns(rows: NewRecord[]): unknown[][] {
  const columns = rows.map((row) => deriveColumns(row.terms));
  return [
    rows.map((row) => row.address),
    rows.map((row) => row.terms),
    columns.map(({ chainId }) => chainId),
    columns.map(({ token }) => token),
    columns.map(({ amount }) => amount),
    columns.map(({ expirationSeconds }) => expirationSeconds),
    rows.map((row) => row.accountId),
    rows.map((row) => row.createdAtMs),
    rows.map((row) => (row.isClientId ? 1 : 0)),
  ];
}

/** A record that was not saved. `place` is the record's position in the group, starting at 1. */
type Exceptional = {
  place: number;
  outcome: "exists" | "held" | "other_terms";
  usedBy: Buffer | null;
};

/**
 * Calls a function of save-functions.ts with one statement, and therefore in one round trip.
 *
 * @throws {UnavailableError} if the call failed, or if PostgreSQL sent a warning. After a warning,
 * the rows may not be durable, for example because the standby server may lack them.
 */
async function save(
  pool: pg.Pool,
  statement: { name: string; text: string; values: unknown[][] },
): Promise<Exceptional[]> {
  const client = await available(pool.connect());
  let warning: string | undefined;
  const onNotice = (notice: { message?: string | undefined }) => {
    warning = notice.message ?? "a warning without a message";
  };
  client.on("notice", onNotice);
  let isBroken = true;
  try {
    const query = client.query<Exceptional>(limited(statement));
    const { rows } = await available(query);
    isBroken = false;
    if (warning) throw new UnavailableError(`the write may not be durable: ${warning}`);
    return rows;
  } finally {
    client.off("notice", onNotice);
    client.release(isBroken); // a statement may still be running
  }
}

/** Adds the time limit of create requests and lookups to a query. */
const limited = <Query extends object>(query: Query) => ({ ...query, query_timeout: answerMsMax });

/** Reads all keys of a group in one round trip. */
function readTogether<Row>(pool: pg.Pool, { name, postgres }: KeyedQuery) {
  return together<Uint8Array, Row[]>(
    async (keys) => {
      const { rows } = await available(
        pool.query<Row & { key: Buffer }>(limited({ name, text: postgres, values: [keys] })),
      );
      const found = Map.groupBy(rows, ({ key }) => key.toString("latin1"));
      return keys.map((key) => found.get(Buffer.from(key).toString("latin1")) ?? []);
    },
    { sizeMax: readSizeMax, runningMax: readsRunningMax },
  );
}

const inTime = <Result>(answer: Promise<Result>): Promise<Result> =>
  withTimeout(
    answerMsMax,
    answer,
    () => new UnavailableError(`PostgreSQL: no response within ${answerMsMax} ms`),
  );

/**
 * Converts any failure of a query to an UnavailableError. It is unknown whether a failed write took
 * effect, so the service must not acknowledge the write.
 */
async function available<Result>(query: Promise<Result>): Promise<Result> {
  try {
    return await query;
  } catch (cause) {
    if (cause instanceof UnavailableError) throw cause;
    throw new UnavailableError(`PostgreSQL: ${(cause as Error).message}`, { cause });
  }
}
