// One server to a directory: limits are counted in its memory, and two would contend for the write
// lock at every create. Operators' commands take no part in this.

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
    lock.pragma("journal_mode = memory"); // nothing is written, so no file beside it either
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new InUseError(`${directory} is in use by another server`);
  }
  return () => lock.close();
}
