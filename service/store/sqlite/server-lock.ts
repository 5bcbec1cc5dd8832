// Locks the data directory, so that only one server uses it. Each server counts rate limits in its
// own memory. Two servers would also compete for the database's write lock. Operators' commands do
// not lock the directory.

import { join } from "node:path";
import Database from "better-sqlite3";
import { makePrivateFile } from "./connect.ts";

/** Thrown if another process has locked the directory. */
export class InUseError extends Error {
  override name = "InUseError";
}

/**
 * Locks `directory` for this process. The lock ends with the process, or when the returned function
 * is called. The lock is SQLite's exclusive lock on a separate, empty file.
 *
 * @param name the name of the lock file; locks with different names are independent
 * @throws {InUseError} immediately, if another process has the lock
 */
export function lockDirectory(directory: string, name = "server.lock"): () => void {
  const file = join(directory, name);
  makePrivateFile(file);
  const lock = new Database(file, { timeout: 0 });
  try {
    lock.pragma("journal_mode = memory"); // avoids a journal file
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new InUseError(`${directory} is in use by another server`);
  }
  return () => lock.close();
}
