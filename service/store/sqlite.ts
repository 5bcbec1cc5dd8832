// The SQLite database, which one server uses. Operators' commands can use it at the same time.
//
// The main thread reads credentials and, for status requests, terms. Four other threads have their
// own connections. A thread starts when it is first needed. Only writers wait for each other.
// - write-worker.ts commits new records.
// - read-worker.ts reads records for lookups.
// - statement-worker.ts runs Kysely's statements.
// - checkpoint-worker.ts copies the write-ahead log into the file.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { type Together, together } from "../flow/together.ts";
import { migrate, type Rooms } from "./migrate.ts";
import { notServed } from "./record.ts";
import { connect, makePrivateFile } from "./sqlite/connect.ts";
import { sqliteDialect } from "./sqlite/dialect.ts";
import type { ReadAnswer } from "./sqlite/read-worker.ts";
import { startThread } from "./sqlite/thread.ts";
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
 * When this number of keys has been collected, the keys are read immediately. For example, each
 * create request starts with a read of its credential. With small groups, the main thread and the
 * writing thread can work simultaneously.
 */
const keysPerGroupMax = 16;
/**
 * When this number of lookups has been collected, the lookups are sent immediately. The reading
 * thread can then start while more requests arrive.
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
  if (code === "SQLITE_IOERR_SHMSIZE") return false; // no space for the log's index
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}
