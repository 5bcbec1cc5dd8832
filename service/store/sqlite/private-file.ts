// Files that hold what only the service may read: digests of credentials and the session secret.

import { closeSync, openSync } from "node:fs";

/**
 * Makes `file`, empty and its owner's alone, if there is none; SQLite gives its `-wal` and `-shm`
 * the same mode. One that is there is not even opened: to close it again would drop every lock that
 * this process holds on it.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
