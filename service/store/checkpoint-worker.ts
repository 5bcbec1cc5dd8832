// Copies SQLite's write-ahead log into its file from a thread of its own: inside the thread that
// answers, each checkpoint held up every create for 100 ms and more.

import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";

const intervalMs = 250;
/** Above this the log is made to start over, which keeps writers out for the last few pages. */
const walBytesMax = 64 * 2 ** 20;

const { file } = workerData as { file: string };
const database = new Database(file, { timeout: 1000 });
database.pragma("synchronous = full");
database.pragma("fullfsync = on");
database.pragma("wal_autocheckpoint = 0");

const timer = setInterval(() => {
  database.pragma("wal_checkpoint(passive)");
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > walBytesMax) database.pragma("wal_checkpoint(truncate)");
}, intervalMs);

parentPort?.once("message", () => {
  clearInterval(timer);
  database.close();
});
