// Copies SQLite's write-ahead log into the database file (a checkpoint), in a separate thread.
// SQLite's own checkpoints run in the thread that commits. Those checkpoints ignore a failed sync,
// so commits could be lost. If a sync fails here, the thread ends, and the service no longer
// acknowledges new records. The thread is for safety, and not for speed.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/**
 * The maximum size of the log, in pages of 4 KiB. A larger log is restarted: SQLite overwrites it
 * from the beginning. The restart blocks writers while the last few pages are copied.
 */
const logPagesMax = 16_384;
/**
 * The maximum time to wait for connections that are reading the log, because the log can restart
 * only without readers. Writers are blocked during the wait, so the limit is low. If the limit is
 * exceeded, the next checkpoint tries to restart the log again.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // some systems cannot sync a read-only file

/**
 * Runs the checkpoints. A full disk does not end the thread. The commits remain in the log, and a
 * later checkpoint copies them when there is space.
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
  // Syncs the file before the log is restarted. The restart syncs again while writers are blocked,
  // but the second sync is short.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // With `truncate` instead of `restart`, writers would also wait while the log's disk blocks are
  // freed.
  database.pragma("wal_checkpoint(restart)");
}

// All other connections of this process must be closed by now. `closeSync` releases all locks that
// the process has on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
