// Copies SQLite's write-ahead log into its file, in a separate thread. SQLite's own checkpoints run
// in the thread that commits, and ignore a failed sync, so that commits could be lost. Here, a
// failed sync ends the thread, and new records are no longer acknowledged. The thread does not
// improve performance: on a disk that takes 4 ms to sync, the service makes 180 commits of 16
// records per second with it, and 186 without it.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/**
 * The maximum size of the log, in pages of 4 KiB. A larger log is restarted from its beginning.
 * This blocks writers while the last few pages are copied.
 */
const logPagesMax = 16_384;
/**
 * How long a restart of the log waits for connections that still read the old log. Writers are
 * blocked in the meantime, so the time is short. If a read takes longer, the restart is tried again
 * at the next interval.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // some systems cannot sync a read-only file

/**
 * Runs the checkpoints. A full disk is not a failure, because the log keeps the commits until there
 * is space.
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
  // The restart below syncs the file while writers are blocked. Because of this sync, the second
  // sync is short.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // Not `truncate`, because `truncate` also frees the log's disk blocks while writers are blocked.
  database.pragma("wal_checkpoint(restart)");
}

// Must be sent after the process has closed all other connections, because `closeSync` releases all
// locks that the process has on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
