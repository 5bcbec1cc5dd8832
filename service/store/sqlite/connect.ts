// Opens connections to the SQLite file, for all threads and for the commands of operators. Also
// contains the functions that wait for the file's write lock.

import { closeSync, openSync } from "node:fs";
import Database from "better-sqlite3";

/** How long a connection waits for the file's write lock by default. */
const lockWaitMsMax = 5000;

type ConnectOptions = {
  /** How long a statement waits for the write lock. */
  busyMsMax?: number;
};

/**
 * Opens a connection whose commits survive a power failure, which SQLite does not guarantee by
 * default.
 */
export function connect(
  file: string,
  { busyMsMax = lockWaitMsMax }: ConnectOptions = {},
): Database.Database {
  // The option `timeout` applies to the switch to WAL mode. Afterwards, `busy_timeout` replaces it.
  const database = new Database(file, { timeout: lockWaitMsMax });
  database.pragma("journal_mode = wal");
  database.pragma("synchronous = full");
  database.pragma("fullfsync = on"); // for macOS: fsync does not flush the disk's cache
  database.pragma("foreign_keys = on");
  database.pragma("wal_autocheckpoint = 0"); // see checkpoint-worker.ts
  database.pragma("journal_size_limit = 268435456"); // bytes; a long read makes the log larger
  database.pragma(`busy_timeout = ${busyMsMax}`);
  const journal = database.pragma("journal_mode", { simple: true });
  const synchronous = database.pragma("synchronous", { simple: true });
  if (journal === "wal" && synchronous === 2) return database;
  throw new Error(
    `${file}: journal_mode ${journal}, synchronous ${synchronous}; expected wal and 2 (full)`,
  );
}

/**
 * Creates an empty `file` that only its owner can read. The database will contain the session
 * secret and digests of credentials. SQLite gives the `-wal` and `-shm` files the same mode. Does
 * not open an existing file, because `closeSync` releases all locks that the process has on the
 * file.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const retryMs = 1;
const clock = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread for `ms` milliseconds. */
export function sleep(ms: number): void {
  if (ms > 0) Atomics.wait(clock, 0, 0, ms);
}

/**
 * Returns the result of `act`. While another connection has the write lock, calls `act` each
 * millisecond, for up to {@link lockWaitMsMax}. SQLite's own wait (`busy_timeout`) sleeps for up to
 * 100 ms between attempts, which is often too long.
 */
export function retryWhileLocked<Result>(act: () => Result): Result {
  const startedMs = performance.now();
  for (;;) {
    try {
      return act();
    } catch (error) {
      const { code } = error as { code?: string };
      const isOver = performance.now() - startedMs >= lockWaitMsMax;
      if (!code?.startsWith("SQLITE_BUSY") || isOver) throw error;
    }
    sleep(retryMs);
  }
}
