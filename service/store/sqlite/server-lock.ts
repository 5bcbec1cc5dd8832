// Allows only one server per directory. Limits are counted in memory, and two servers would compete
// for the write lock with every new record. Operators' commands do not take this lock.

import { join } from "node:path";
import Database from "better-sqlite3";
import { makePrivateFile } from "./connect.ts";

/** Thrown if another process has locked the directory. */
export class InUseError extends Error {
  override name = "InUseError";
}

/**
 * Makes this process the only server of `directory`, until the process calls the returned function
 * or ends. The lock is an operating system lock on a separate SQLite file, which is always empty.
 *
 * @param name the file name of the lock; only one process at a time can have each lock
 * @throws {InUseError} immediately, if another process has the lock
 */
export function lockDirectory(directory: string, name = "server.lock"): () => void {
  const file = join(directory, name);
  makePrivateFile(file);
  const lock = new Database(file, { timeout: 0 });
  try {
    lock.pragma("journal_mode = memory"); // without writes, SQLite creates no further files
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new InUseError(`${directory} is in use by another server`);
  }
  return () => lock.close();
}
