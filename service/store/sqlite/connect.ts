// A connection to the SQLite file, as every thread and command here opens it.

import Database from "better-sqlite3";

type ConnectOptions = {
  /** How long a statement waits for the write lock. */
  busyMsMax?: number;
  /** Memory for pages of the file. */
  cacheMiB?: number;
};

/** Its commits survive a power cut: better-sqlite3 itself opens WAL at NORMAL. */
export function connect(
  file: string,
  { busyMsMax = 5000, cacheMiB = 64 }: ConnectOptions = {},
): Database.Database {
  const database = new Database(file, { timeout: 5000 }); // to enter WAL takes the lock
  database.pragma("journal_mode = wal");
  database.pragma("synchronous = full");
  database.pragma("fullfsync = on"); // where fsync alone stops at the disk's cache (macOS)
  database.pragma("foreign_keys = on");
  database.pragma("wal_autocheckpoint = 0"); // checkpoint-worker.ts does it
  database.pragma("journal_size_limit = 268435456"); // bytes: back to it after a long read
  database.pragma(`cache_size = -${cacheMiB * 1024}`); // KiB
  database.pragma(`busy_timeout = ${busyMsMax}`);
  const journal = database.pragma("journal_mode", { simple: true });
  const synchronous = database.pragma("synchronous", { simple: true });
  if (journal === "wal" && synchronous === 2) return database;
  throw new Error(
    `${file}: journal_mode ${journal}, synchronous ${synchronous}; wanted wal and 2 (full)`,
  );
}
