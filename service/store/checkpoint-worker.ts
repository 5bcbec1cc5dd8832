// Copies SQLite's write-ahead log into its file from a thread of its own: in a thread that writes
// or answers, each checkpoint held up every create for 100 ms and more.

import { closeSync, fdatasyncSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "./connect.ts";

const intervalMs = 250;
/** Pages of 4 KiB. Above this the log starts over, which keeps writers out for the last few. */
const logPagesMax = 16_384;
/**
 * How long to start over waits, with writers kept out, for those who still read the old log; then
 * it is tried again at the next turn. With a second, one long read held creates up for seconds.
 */
const readersMsMax = 20;

const { file } = workerData as { file: string };
const database = connect(file, readersMsMax);
const descriptor = openSync(file, "r+"); // not every system syncs what was opened to read

const timer = setInterval(() => {
  const [done] = database.pragma("wal_checkpoint(passive)") as { log: number }[];
  if (!done || done.log <= logPagesMax) return;
  // To start over, all must be on disk. Done here first, the disk's 30 ms are nobody's to wait for.
  fdatasyncSync(descriptor);
  database.pragma("wal_checkpoint(passive)");
  // Not `truncate`: to free the file's blocks took 50 ms with the lock held, and to allocate them
  // again makes each later commit wait for the file system's journal as well.
  database.pragma("wal_checkpoint(restart)");
}, intervalMs);

// Asked for when the process has no other connection left: to close the descriptor drops every lock
// that the process holds on the file.
parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
  closeSync(descriptor);
});
