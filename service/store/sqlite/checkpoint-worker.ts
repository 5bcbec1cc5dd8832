// Copies SQLite's write-ahead log into its file, in a thread of its own: in the thread that writes
// or the one that answers, creates would wait while the disk takes a checkpoint.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/** Pages of 4 KiB. Above this the log starts over, which keeps writers out for the last few. */
const logPagesMax = 16_384;
/**
 * Starting the log over keeps writers out and waits so long for readers of the old log; then it is
 * tried again at the next interval. So a long read delays no create for longer.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: readersMsMax });
const descriptor = openSync(file, "r+"); // not every system syncs what was opened to read

/** A full disk is no failed disk: the log keeps what was committed until there is room. */
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
  // Starting over syncs the file first, with writers kept out: synced here, they need not wait.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // Not `truncate`: it would free the file's blocks with the lock held, and to allocate them again
  // makes each later commit wait for the file system's journal as well.
  database.pragma("wal_checkpoint(restart)");
}

// The message comes when the process has no other connection left, since closing a descriptor drops
// every lock that the process holds on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
