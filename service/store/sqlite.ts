// The SQLite database, which one server uses. Operators' commands can use it at the same time.
//
// The main thread reads credentials and, for status requests, terms. Four other threads have their
// own connections. A thread starts when it is first needed. Only writers wait for each other.
// - write-worker.ts commits new records.
// - read-worker.ts reads records for lookups.
// - statement-worker.ts runs Kysely's statements. In the main thread, each commit would block all
//   requests until the commit is on disk.
// - checkpoint-worker.ts copies the write-ahead log into the file.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { type Together, together } from "../flow/together.ts";
import { migrate, type Rooms } from "./migrate.ts";
import { notServed } from "./record.ts";
import { connect, makePrivateFile } from "./sqlite/connect.ts";
import type { ReadAnswer } from "./sqlite/read-worker.ts";
import type { BoundStatement, StatementOutcome } from "./sqlite/statement-worker.ts";
import type { WriteAnswer } from "./sqlite/write-worker.ts";
import {
  type CorruptError,
  type KeyedQuery,
  type KeyedReader,
  type NewRecord,
  otherTerms,
  type SaveOutcome,
  type Store,
  savesPerCommit,
  termsByAddress,
  UnavailableError,
} from "./store.ts";
import type { Tables } from "./tables.ts";

/**
 * The maximum number of keys that are collected before they are read together. For example, each
 * create request starts with a read of its credential. With small groups, the main thread and the
 * writing thread can work simultaneously.
 */
const keysPerGroupMax = 16;
/**
 * The maximum number of lookups that are collected before they are sent together. With this limit,
 * the reading thread can start while more requests arrive.
 */
const lookupsPerGroupMax = 32;
/**
 * The maximum number of groups that the reading thread has not answered. While the thread processes
 * one group, the next one is already waiting.
 */
const lookupGroupsMax = 2;

export const sqliteFile = (dataDirectory: string): string => join(dataDirectory, "service.db");

/**
 * @param file the path of the database file, which is created if missing; its directory must exist
 * @param checkpoints false for operators' commands, because the server runs the checkpoints
 */
export async function openSqlite(file: string, rooms: Rooms, checkpoints = true): Promise<Store> {
  makePrivateFile(file);
  const hot = connect(file);
  await migrateFile(file, rooms).catch((error) => {
    hot.close();
    throw error;
  });

  let fault: Error | undefined;
  const db = new Kysely<Tables>({
    dialect: sqliteDialect(file, (cause) => {
      fault = cause;
    }),
  });
  const writer = recordWriter(file);
  const reader = recordReader(file);
  const checkpointer = startThread(new URL("./sqlite/checkpoint-worker.ts", import.meta.url), {
    ...{ file, name: "checkpoint" },
    onEnd: writer.stopAcknowledging,
  });
  if (checkpoints) checkpointer.start();
  const reads: Together<Uint8Array, unknown[]>[] = [];
  const readerOf = <Row>(query: KeyedQuery): KeyedReader<Row> => {
    const read = readTogether<Row>(hot, query);
    reads.push(read);
    return read;
  };
  const terms = readerOf<{ terms: Buffer }>(termsByAddress);

  return {
    dialect: "sqlite",
    saveRecord: writer.save,
    findTerms: async (address) => (await terms(address))[0]?.terms,
    findRecord: reader.find,
    readerOf,
    db,
    async check() {
      writer.assertAcknowledging();
      await reader.find(Buffer.alloc(20));
      if (fault) throw fault;
      if (!existsSync(file)) throw new UnavailableError(`${file} is missing`);
    },
    async close() {
      await Promise.all(reads.map((read) => read.idle()));
      await reader.stop();
      await writer.stop();
      await db.destroy();
      hot.close();
      await checkpointer.stop();
    },
  };
}

/** Runs the migrations in the main thread, because the server does not answer requests yet. */
async function migrateFile(file: string, rooms: Rooms): Promise<void> {
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: connect(file) }) });
  await migrate(db, "sqlite", rooms).finally(() => db.destroy());
}

/** Reads all keys of a group in one transaction, so that the file is locked once. */
function readTogether<Row>(hot: Database.Database, { sqlite }: KeyedQuery) {
  const statement = hot.prepare<[Uint8Array], Row>(sqlite);
  const readAll = hot.transaction((keys: Uint8Array[]) => keys.map((key) => statement.all(key)));
  return together<Uint8Array, Row[]>(readAll, { sizeMax: keysPerGroupMax });
}

type RecordReader = {
  /**
   * Returns the verified record of an address (20 bytes) as JSON.
   *
   * @throws {UnavailableError}
   * @throws {CorruptError}
   */
  find(address: Uint8Array): Promise<string | undefined>;
  /** Stops the thread after it has answered all pending lookups. */
  stop(): Promise<void>;
};

/**
 * Opens the reading thread, which receives groups of addresses. With this thread, the service
 * answers more lookups per second (read-worker.ts). On a slow disk, lookups wait in this thread,
 * and do not block the main thread.
 */
export function recordReader(file: string): RecordReader {
  const module = new URL("./sqlite/read-worker.ts", import.meta.url);
  const thread = startThread<Uint8Array[], ReadAnswer>(module, { file, name: "reading" });
  const findAll = async (addresses: Uint8Array[]) => {
    // A small Buffer is a part of Node's memory pool. If a message contained the Buffer, the whole
    // pool would be copied.
    const answer = await thread.ask(addresses.map((address) => new Uint8Array(address)));
    if (answer.kind === "failed") {
      throw new UnavailableError(`not read: ${answer.code}: ${answer.message}`);
    }
    return answer.found.map((found, at) => {
      if (found === null) return undefined;
      return typeof found === "string"
        ? found
        : notServed(addresses[at]!, new Error(found.corrupt));
    });
  };
  const find = together<Uint8Array, string | undefined>(findAll, {
    sizeMax: lookupsPerGroupMax,
    runningMax: lookupGroupsMax,
  });
  return {
    find,
    async stop() {
      await find.idle();
      await thread.stop();
    },
  };
}

type RecordWriter = {
  /**
   * Resolves when the outcome is durable.
   * @throws {UnavailableError}
   * @throws {CorruptError}
   */
  save(row: NewRecord): Promise<SaveOutcome>;
  /** After this call, every save fails, including pending saves. */
  stopAcknowledging(error: unknown): void;
  /** @throws {UnavailableError} after a failure that requires a restart */
  assertAcknowledging(): void;
  /** Stops the thread after it has answered all pending saves. */
  stop(): Promise<void>;
};

/**
 * Opens the writing thread, which receives groups of records. Groups that wait in the thread's
 * queue are committed in one transaction. The outcomes arrive in the order of the groups.
 */
function recordWriter(file: string): RecordWriter {
  let failure: unknown;

  const stopAcknowledging = (error: unknown) => {
    failure ??= error;
  };
  const assertAcknowledging = () => {
    if (failure)
      throw new UnavailableError(`writes are rejected until a restart, because of: ${failure}`, {
        cause: failure,
      });
  };
  const readOutcomes = (rows: NewRecord[], answer: WriteAnswer): (SaveOutcome | CorruptError)[] => {
    if (answer.kind === "failed") {
      if (isFatal(answer.code)) stopAcknowledging(`${answer.code}: ${answer.message}`);
      throw new UnavailableError(`not committed: ${answer.code}: ${answer.message}`);
    }
    assertAcknowledging();
    const outcomes: (SaveOutcome | CorruptError)[] = rows.map(() => "saved");
    for (const { index, why } of answer.exceptions) {
      outcomes[index] = why === "other_terms" ? otherTerms(rows[index]!.address) : why;
    }
    return outcomes;
  };
  const module = new URL("./sqlite/write-worker.ts", import.meta.url);
  const thread = startThread<NewRecord[], WriteAnswer>(module, {
    ...{ file, name: "writing" },
    onEnd: stopAcknowledging,
  });
  const send = async (rows: NewRecord[]) => {
    assertAcknowledging();
    return readOutcomes(rows, await thread.ask(rows));
  };
  const save = together<NewRecord, SaveOutcome>(send, {
    // Full groups are sent immediately, so that the writing thread can start while more requests
    // arrive.
    sizeMax: savesPerCommit,
    runningMax: Number.POSITIVE_INFINITY,
  });

  return {
    save,
    stopAcknowledging,
    assertAcknowledging,
    async stop() {
      await save.idle();
      await thread.stop();
    },
  };
}

/**
 * Returns whether writes must stop until the service is restarted. After a failed fsync, the kernel
 * may report the next fsync as successful although it lost pages. A full disk requires no restart,
 * because SQLite can roll the transaction back.
 */
function isFatal(code: string): boolean {
  if (code === "SQLITE_IOERR_SHMSIZE") return false; // the disk has no space for the log's index
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

/**
 * Returns the Kysely dialect, whose statements run in a separate thread (statement-worker.ts). The
 * dialect has a single connection, so other statements wait while a transaction is open.
 * A transaction takes the write lock when it begins. Otherwise, the thread that saves records could
 * commit between the transaction's first read and first write. The write would then fail
 * (SQLITE_BUSY_SNAPSHOT).
 *
 * @param onEnd called once, when the thread ends or fails
 */
export function sqliteDialect(file: string, onEnd: (cause: Error) => void): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => openDriver(file, onEnd),
  };
}

function openDriver(file: string, onEnd: (cause: Error) => void): Driver {
  const module = new URL("./sqlite/statement-worker.ts", import.meta.url);
  const thread: Thread<BoundStatement, StatementOutcome> = startThread(module, {
    ...{ file, name: "statement", onEnd },
  });
  const run = (sql: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(sql));
  };
  return {
    init: async () => {},
    acquireConnection: async () => connectionTo(thread),
    beginTransaction: run("begin immediate"),
    commitTransaction: run("commit"),
    rollbackTransaction: run("rollback"),
    releaseConnection: async () => {},
    destroy: () => thread.stop(),
  };
}

function connectionTo(thread: Thread<BoundStatement, StatementOutcome>): DatabaseConnection {
  return {
    async executeQuery<Result>({ sql, parameters }: CompiledQuery) {
      const outcome = await thread.ask({ sql, parameters: parameters.map(alone) });
      if (outcome.kind === "error") throw outcome.error;
      if (outcome.kind === "sqlite_error") {
        throw new Database.SqliteError(outcome.message, outcome.code);
      }
      if (outcome.kind === "rows") return { rows: outcome.rows.map(withBuffers) as Result[] };
      const { changes, lastInsertRowid } = outcome;
      return { numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid), rows: [] };
    },
    streamQuery() {
      throw new Error("statements on SQLite are not streamed");
    },
  };
}

/**
 * Copies a Buffer that is part of a larger memory block. Without the copy, the whole block would be
 * sent to the thread.
 */
function alone(value: unknown): unknown {
  const isPart = value instanceof Uint8Array && value.byteLength < value.buffer.byteLength;
  return isPart ? new Uint8Array(value) : value;
}

/**
 * Converts each Uint8Array of a row to a Buffer. A Buffer that is sent to another thread arrives as
 * a Uint8Array.
 */
function withBuffers(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name];
    if (value instanceof Uint8Array) {
      row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  }
  return row;
}

type Thread<Message, Answer> = {
  /** Starts the thread now. Without this call, the thread starts with the first message. */
  start(): void;
  /**
   * Sends a message and returns its answer.
   *
   * @throws {UnavailableError} after the thread has ended
   */
  ask(message: Message): Promise<Answer>;
  /** Stops the thread after it has answered all earlier messages. */
  stop(): Promise<void>;
};

type Waiting<Answer> = { resolve(answer: Answer): void; reject(reason: unknown): void };

/**
 * Starts a thread with its own connection to the SQLite file. The thread answers messages in order,
 * and can answer several messages together.
 *
 * @param module the thread's module. The module must handle messages and `"stop"`, and must post
 *   its answers in arrays.
 * @param name the thread's name in error messages, such as "writing"
 * @param onEnd called once, when the thread ends or fails
 */
export function startThread<Message, Answer>(
  module: URL,
  { file, name, onEnd = () => {} }: { file: string; name: string; onEnd?: (cause: Error) => void },
): Thread<Message, Answer> {
  const waiting: Waiting<Answer>[] = [];
  const ended = Promise.withResolvers<void>();
  let worker: Worker | undefined;
  let end: UnavailableError | undefined;

  const endBy = (cause?: unknown) => {
    if (end) return;
    end = new UnavailableError(`the ${name} thread has ended${cause ? `: ${cause}` : ""}`, {
      cause,
    });
    onEnd(end);
  };
  const startWorker = (): Worker => {
    const started = new Worker(module, {
      workerData: { file },
      execArgv: [], // workers do not support all options of Node
    });
    started.on("message", (answers: Answer[]) => {
      for (const answer of answers) waiting.shift()?.resolve(answer);
      if (waiting.length === 0) started.unref();
    });
    started.on("error", endBy);
    started.unref(); // must be called after `on`, which undoes `unref`
    started.once("exit", () => {
      endBy();
      for (const { reject } of waiting.splice(0)) reject(end);
      ended.resolve();
    });
    return started;
  };

  return {
    start() {
      worker ??= startWorker();
    },
    async ask(message) {
      if (end) throw end;
      worker ??= startWorker();
      worker.postMessage(message);
      worker.ref(); // keeps the process alive until the answer
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async stop() {
      if (!worker) return endBy();
      worker.ref();
      worker.postMessage("stop");
      await ended.promise;
    },
  };
}
