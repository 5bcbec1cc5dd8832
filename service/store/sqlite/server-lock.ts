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
 * Makes this process the server of `directory`, until it calls what is returned or ends, however it
 * ends: the lock is the operating system's, on a SQLite file of its own that never has content.
 *
 * @param name of the lock; each is held by one process
 * @throws {InUseError} at once
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
