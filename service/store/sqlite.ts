// The store in one SQLite file: one server, and operators' commands beside it.
//
// The thread that answers requests reads credentials, and terms where a status is asked for. New
// records are committed by a thread of their own (write-worker.ts), those looked up are read by
// another (read-worker.ts), Kysely's statements are run by a third (statement-worker.ts), and a
// fourth copies the log into the file (checkpoint-worker.ts). Each starts when it is first needed
// and has its own connection; those that write wait for each other alone.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { type Together, together } from "../flow/together.ts";
import { migrate, type Rooms } from "./migrate.ts";
import { connect } from "./sqlite/connect.ts";
import { sqliteDialect } from "./sqlite/dialect.ts";
import { makePrivateFile } from "./sqlite/private-file.ts";
import { recordReader } from "./sqlite/record-reader.ts";
import { recordWriter } from "./sqlite/record-writer.ts";
import { startThread } from "./sqlite/thread.ts";
import {
  type KeyedQuery,
  type KeyedReader,
  type Store,
  termsByAddress,
  UnavailableError,
} from "./store.ts";
import type { Tables } from "./tables.ts";

/**
 * A group of this size is read at once, so that the first creates of a turn reach the writing
 * thread while the others are still worked on: with all of a turn together, each of the two
 * threads would wait for the other.
 */
const groupSizeMax = 16;

/** The path of the SQLite database. */
export const sqliteFile = (dataDirectory: string): string => join(dataDirectory, "service.db");

/**
 * @param file created where it is not there; its directory must be
 * @param checkpoints false where another process is the server and does them (operators' commands)
 */
export async function openSqlite(file: string, rooms: Rooms, checkpoints = true): Promise<Store> {
  makePrivateFile(file);
  const hot = connect(file, { cacheMiB: 16 });
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
      if (!existsSync(file)) throw new UnavailableError(`${file} is gone`);
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

/** Migrates in this thread, which answers no request yet, so no other has to start first. */
async function migrateFile(file: string, rooms: Rooms): Promise<void> {
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: connect(file) }) });
  await migrate(db, "sqlite", rooms).finally(() => db.destroy());
}

/** Reads all keys of a group in one transaction, which takes the locks of the file once. */
function readTogether<Row>(hot: Database.Database, { sqlite }: KeyedQuery) {
  const statement = hot.prepare<[Uint8Array], Row>(sqlite);
  const readAll = hot.transaction((keys: Uint8Array[]) => keys.map((key) => statement.all(key)));
  return together<Uint8Array, Row[]>(readAll, { sizeMax: groupSizeMax });
}
