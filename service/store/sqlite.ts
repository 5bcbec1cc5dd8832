// The store in one SQLite file: one server, and operators' commands beside it.
//
// The thread that answers reads, and writes through Kysely what is off the hot path. New records
// are committed by a thread of their own (write-worker.ts), the log is copied into the file by
// another (checkpoint-worker.ts): each has its own connection. A transaction of Kysely's may
// outlive a turn of the event loop; the writing thread waits for it and holds nobody else up.

import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type Database from "better-sqlite3";
import { CompiledQuery, type Dialect, Kysely, SqliteDialect } from "kysely";
import { connect } from "./connect.ts";
import { grouped } from "./group.ts";
import { migrate } from "./migrate.ts";
import { makePrivateFile } from "./private-file.ts";
import { readTogether, termsReader } from "./read-together.ts";
import { startRecordWriter } from "./record-writer.ts";
import { type Store, UnavailableError } from "./store.ts";
import type { Tables } from "./tables.ts";

const groupSizeMax = 1024;

/**
 * @param file created where it is not there; its directory must be
 * @param checkpoints false where another process is the server and does them (operators' commands)
 */
export async function openSqlite(file: string, checkpoints = true): Promise<Store> {
  makePrivateFile(file);
  const hot = connect(file);
  const db = new Kysely<Tables>({ dialect: dialectOf(connect(file)) });
  await migrate(db, "sqlite").catch(async (error) => {
    await db.destroy();
    hot.close();
    throw error;
  });

  const writer = startRecordWriter(file);
  const checkpointer = checkpoints ? startCheckpoints(file, writer.stopAcknowledging) : undefined;
  const { terms, apiKeys, clientIds } = readers(hot);

  return {
    dialect: "sqlite",
    file,
    async saveRecord(row) {
      const fault = await writer.save(row);
      if (fault) throw fault;
    },
    findTerms: (address) => terms.add(address),
    findApiKey: (digest) => apiKeys.add(digest),
    findClientId: (digest) => clientIds.add(digest),
    db,
    async check() {
      writer.assertAcknowledging();
      hot.prepare("select 1").get();
      if (!existsSync(file)) throw new UnavailableError(`${file} is gone`);
    },
    async close() {
      await Promise.all([terms, apiKeys, clientIds].map((group) => group.idle()));
      await writer.stop();
      await db.destroy();
      hot.close();
      await checkpointer?.stop();
    },
  };
}

/**
 * Kysely's own, but its transactions take the write lock as they begin: one that reads first, while
 * the writing thread commits, could not write any more (SQLITE_BUSY_SNAPSHOT).
 */
function dialectOf(database: Database.Database): Dialect {
  const dialect = new SqliteDialect({ database });
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver() {
      const driver = dialect.createDriver();
      driver.beginTransaction = async (connection) => {
        await connection.executeQuery(CompiledQuery.raw("begin immediate"));
      };
      return driver;
    },
  };
}

/** One read transaction for all that is asked in a turn. */
function readers(hot: Database.Database) {
  const apiKey = hot.prepare<[Uint8Array], { accountId: string }>(
    "select account_id as accountId from api_keys where digest = ?",
  );
  const clientId = hot.prepare<[Uint8Array], { accountId: string; origin: string | null }>(
    `select c.account_id as accountId, o.origin from client_ids c
       left join origins o on o.account_id = c.account_id where c.digest = ? order by o.origin`,
  );
  const findClientId = (digest: Uint8Array) => {
    const rows = clientId.all(digest);
    const accountId = rows[0]?.accountId;
    const origins = rows.flatMap(({ origin }) => (origin === null ? [] : [origin]));
    return accountId === undefined ? undefined : { accountId, origins };
  };
  return {
    terms: grouped(termsReader(hot), groupSizeMax),
    apiKeys: grouped(
      readTogether(hot, (digest) => apiKey.get(digest)),
      groupSizeMax,
    ),
    clientIds: grouped(readTogether(hot, findClientId), groupSizeMax),
  };
}

function startCheckpoints(
  file: string,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const worker = new Worker(new URL("./checkpoint-worker.ts", import.meta.url), {
    workerData: { file },
    execArgv: [], // those of the program may not fit a worker
  });
  worker.unref();
  worker.on("error", onError);
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  return {
    stop() {
      worker.ref();
      worker.postMessage("stop");
      return ended;
    },
  };
}
