// Runs Kysely's statements on SQLite in a separate thread, one after the other (../sqlite.ts).

import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { connect, retryWhileLocked, sleep } from "./connect.ts";

export type BoundStatement = { sql: string; parameters: unknown[] };

type Row = Record<string, unknown>;

export type StatementOutcome =
  | { kind: "rows"; rows: Row[] }
  | { kind: "changes"; changes: number; lastInsertRowid: number | bigint }
  /** An error from SQLite, with SQLite's error code. */
  | { kind: "sqlite_error"; code: string; message: string }
  /** Any other error, for example about a parameter with an unsupported type. */
  | { kind: "error"; error: unknown };

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: 0 });
const port = parentPort as NonNullable<typeof parentPort>;

/**
 * How long this thread waits after a commit before it takes the write lock again. Meanwhile, the
 * thread that saves records can take the lock. That thread tries to take the lock each millisecond.
 * SQLite itself does not give the lock to the connection that has waited longest.
 */
const pauseMs = 2;
let freedAtMs = 0;

function run({ sql, parameters }: BoundStatement): StatementOutcome {
  const statement = database.prepare<unknown[], Row>(sql);
  const wasHeld = database.inTransaction;
  const writes = !statement.readonly;
  if (writes && !wasHeld) sleep(freedAtMs + pauseMs - performance.now());
  try {
    return statement.reader
      ? { kind: "rows", rows: statement.all(parameters) }
      : { kind: "changes", ...statement.run(parameters) };
  } finally {
    if ((writes || wasHeld) && !database.inTransaction) freedAtMs = performance.now();
  }
}

function answer(statement: BoundStatement): StatementOutcome {
  try {
    return retryWhileLocked(() => run(statement));
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) return { kind: "error", error };
    return { kind: "sqlite_error", code: error.code, message: error.message };
  }
}

port.on("message", (message: BoundStatement | "stop") => {
  if (message !== "stop") return port.postMessage([answer(message)]);
  database.close();
  port.close();
});
