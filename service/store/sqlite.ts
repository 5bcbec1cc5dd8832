// The store in one SQLite file: one server, and operators' commands beside it.
//
// Two connections. `hot` serves creates and look-ups with prepared statements and its write
// transaction never outlives one turn of the event loop. `db` is Kysely's, whose transactions do:
// if `hot` then waited inside SQLite for the write lock, the loop that must release it would stand
// still. So `hot` never waits there; it tries again from the loop.

import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { grouped } from "./group.ts";
import { migrate } from "./migrate.ts";
import { makePrivateFile } from "./private-file.ts";
import { type NewRecord, type Outcome, otherTerms, type Store, UnavailableError } from "./store.ts";
import type { Tables } from "./tables.ts";

const groupSizeMax = 1024;
const busyRetryMs = 2;
const busyTimeoutMs = 5000;

/**
 * @param file created where it is not there; its directory must be
 * @param checkpoints false where another process is the server and does them (operators' commands)
 */
export async function openSqlite(file: string, checkpoints = true): Promise<Store> {
  makePrivateFile(file);
  const hot = connect(file, 0);
  const cold = connect(file, busyTimeoutMs);
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: cold }) });
  await migrate(db, "sqlite").catch(async (error) => {
    await db.destroy();
    hot.close();
    throw error;
  });

  const writer = recordWriter(hot);
  const worker = checkpoints ? startCheckpoints(file, writer.stopAcknowledging) : undefined;
  const group = grouped(writer.write, groupSizeMax);
  const credentials = credentialReader(hot);
  const terms = hot.prepare<[Uint8Array], Buffer>("select terms from records where address = ?");
  terms.pluck();

  return {
    dialect: "sqlite",
    async saveRecord(row) {
      const fault = await group.add(row);
      if (fault) throw fault;
    },
    findTerms: async (address) => terms.get(address),
    ...credentials,
    db,
    async check() {
      writer.assertAcknowledging();
      hot.prepare("select 1").get();
      if (!existsSync(file)) throw new UnavailableError(`${file} is gone`);
    },
    async close() {
      await group.idle();
      await worker?.stop();
      await db.destroy();
      hot.close();
    },
  };
}

/** A connection whose commits survive a power cut: better-sqlite3 itself opens WAL at NORMAL. */
function connect(file: string, timeout: number): Database.Database {
  const database = new Database(file, { timeout: busyTimeoutMs });
  database.pragma("journal_mode = wal");
  database.pragma("synchronous = full");
  database.pragma("fullfsync = on"); // where fsync alone stops at the disk's cache (macOS)
  database.pragma("foreign_keys = on");
  database.pragma("wal_autocheckpoint = 0"); // checkpoint-worker.ts does it, off this thread
  database.pragma("cache_size = -65536"); // 64 MiB: with 2 most pages of an index are read anew
  database.pragma(`busy_timeout = ${timeout}`);
  const journal = database.pragma("journal_mode", { simple: true });
  const synchronous = database.pragma("synchronous", { simple: true });
  if (journal === "wal" && synchronous === 2) return database;
  throw new Error(
    `${file}: journal_mode ${journal}, synchronous ${synchronous}; wanted wal and 2 (full)`,
  );
}

function recordWriter(hot: Database.Database) {
  const record = hot.prepare(
    `insert into records (address, terms, account_id, created_at) values (?, ?, ?, ?)
       on conflict do nothing`,
  );
  const held = hot.prepare<[Uint8Array], { terms: Buffer; accountId: string }>(
    "select terms, account_id as accountId from records where address = ?",
  );
  const laterOwner = hot.prepare(
    `insert into later_owners (account_id, address, created_at) values (?, ?, ?)
       on conflict do nothing`,
  );
  const save = ({ address, terms, accountId, createdAtMs }: NewRecord): Outcome => {
    if (record.run(address, terms, accountId, createdAtMs).changes > 0) return;
    const first = held.get(address);
    if (!first?.terms.equals(terms)) return otherTerms(address);
    if (first.accountId !== accountId) laterOwner.run(accountId, address, createdAtMs);
  };
  const commit = hot.transaction((rows: NewRecord[]) => rows.map(save)).immediate;
  let failure: unknown;
  const stopAcknowledging = (error: unknown) => {
    failure ??= error;
  };
  const assertAcknowledging = () => {
    if (!failure) return;
    throw new UnavailableError(`no write is acknowledged since: ${failure}`, { cause: failure });
  };

  const write = async (rows: NewRecord[]): Promise<Outcome[]> => {
    for (let waitedMs = 0; ; waitedMs += busyRetryMs) {
      assertAcknowledging();
      try {
        return commit(rows);
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error;
        if (isFatal(error.code)) stopAcknowledging(error);
        if (!error.code.startsWith("SQLITE_BUSY") || waitedMs >= busyTimeoutMs) {
          throw new UnavailableError(`not committed: ${error.code}`, { cause: error });
        }
      }
      await sleep(busyRetryMs);
    }
  };
  return { write, assertAcknowledging, stopAcknowledging };
}

/**
 * After a failed fsync the kernel may report the next one as good with pages lost, so nothing is
 * acknowledged again until a restart has read the file anew. A full disk rolls back cleanly.
 */
function isFatal(code: string): boolean {
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

function credentialReader(hot: Database.Database): Pick<Store, "findApiKey" | "findClientId"> {
  const apiKey = hot.prepare<[Uint8Array], { accountId: string }>(
    "select account_id as accountId from api_keys where digest = ?",
  );
  const clientId = hot.prepare<[Uint8Array], { accountId: string; origin: string | null }>(
    `select c.account_id as accountId, o.origin from client_ids c
       left join origins o on o.account_id = c.account_id where c.digest = ? order by o.origin`,
  );
  return {
    findApiKey: async (digest) => apiKey.get(digest),
    async findClientId(digest) {
      const rows = clientId.all(digest);
      const first = rows[0];
      if (!first) return undefined;
      return {
        accountId: first.accountId,
        origins: rows.flatMap(({ origin }) => (origin === null ? [] : [origin])),
      };
    },
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
