// Copies SQLite's write-ahead log into the database file (a checkpoint), in a separate thread.
// SQLite's own checkpoints run in the thread that commits, and ignore a failed sync, so commits
// could be lost. If a sync fails in this file, the thread ends, and the service no longer
// acknowledges new records. The thread is for safety, and not for speed.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/**
 * The size of the log, in pages of 4 KiB, above which the log is restarted from its beginning. The
 * restart blocks writers while the last few pages are copied.
 */
const logPagesMax = 16_384;
/**
 * How long a restart of the log waits for connections that still read the old log. Writers are
 * blocked during this wait, so the wait is short. If a read takes longer, the next checkpoint tries
 * the restart again.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // some systems cannot sync a read-only file

/**
 * Runs the checkpoints. A full disk does not end the thread, because the log contains the commits
 * until there is space.
 */
const timer = setInterval(() => {
  try {
    checkpoint();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_FULL") throw error;
  }
}, intervalMs);

function checkpoint(): void {
  const [done] = database.pragma("wal_checkpoint(passive)") as { log: number }[];
  if (!done || done.log <= logPagesMax) return;
  // Syncs the file before the restart below, which syncs the file again while writers are blocked.
  // The second sync is then short.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // Not `truncate`, because `truncate` also frees the log's disk blocks while writers are blocked.
  database.pragma("wal_checkpoint(restart)");
}

// All other connections of this process must be closed before this message arrives, because
// `closeSync` releases all locks that the process has on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
