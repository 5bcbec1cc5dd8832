// Copies SQLite's write-ahead log into its file, in a separate thread. SQLite's own checkpoints,
// which run in the thread that commits, ignore a failed sync, so commits in the log could be lost.
// Here, a failed sync ends the thread, and new records are no longer acknowledged. The thread does
// not make the service faster: on a disk that takes 4 ms to sync, the service makes 180 commits of
// 16 records per second with the thread, and 186 without it.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/**
 * The maximum size of the log, in pages of 4 KiB. Above this size, the log is restarted from its
 * beginning. This blocks writers while the last few pages are copied.
 */
const logPagesMax = 16_384;
/**
 * The maximum time for which a restart of the log waits for readers of the old log. The time is
 * short, because the restart blocks writers meanwhile. If a read takes longer, the restart is tried
 * again at the next interval.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // some systems cannot sync a read-only file

/**
 * Runs the checkpoints. A full disk is not a fault, because the log keeps the commits until there
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
  // The restart below syncs the file while writers are blocked. Because the file is already synced
  // here, the second sync is short.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // `truncate` would be slower than `restart`. It would free the log's disk blocks while writers
  // are blocked. Afterwards, each commit would wait for the file system's journal, because these
  // blocks have to be allocated again.
  database.pragma("wal_checkpoint(restart)");
}

// The process must send this message after it has closed all other connections, because `closeSync`
// releases all locks that the process has on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
