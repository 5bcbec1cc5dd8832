// Copies SQLite's write-ahead log into its file, in a separate thread. SQLite's own checkpoints,
// which run in the thread that commits, ignore a failed sync. Commits in the log could then be
// lost. Here, a failed sync ends the thread, and creates are no longer acknowledged. The thread
// does not increase speed: on a disk that takes 4 ms to sync, the service makes 180 commits of 16
// creates per second with the thread, and 186 without it.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/**
 * The maximum size of the log, in pages of 4 KiB. Above this size the log restarts, which blocks
 * writers while the last few pages are copied.
 */
const logPagesMax = 16_384;
/**
 * A restart of the log blocks writers, and waits at most this long for readers of the old log. Then
 * the restart is tried again at the next interval, so a long read does not delay creates for
 * longer.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // not every system syncs a read-only file

/** A full disk is not a fault, because the log keeps the commits until there is space. */
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
  // A restart first syncs the file while writers are blocked. Syncing the file here makes that sync
  // short.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // This is not `truncate`, which would free the log's blocks while it holds the lock. Allocating
  // the blocks again would make each later commit wait for the file system's journal.
  database.pragma("wal_checkpoint(restart)");
}

// This message must arrive only after the process has closed all other connections, because closing
// a descriptor releases every lock that the process holds on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
