// Allows only one server per folder, because limits are counted in memory, and two servers would
// compete for the write lock at every create. Operators' commands do not take this lock.

import { join } from "node:path";
import Database from "better-sqlite3";
import { makePrivateFile } from "./connect.ts";

/** Another process holds the directory. */
export class InUseError extends Error {
  override name = "InUseError";
}

/**
 * Makes this process the server of `directory` until it calls the returned function or ends in any
 * way. The lock is an operating system lock on a separate SQLite file that is always empty.
 *
 * @param name of the lock; each is held by one process
 * @throws {InUseError} immediately
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
