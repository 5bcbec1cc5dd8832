// The Kysely dialect for SQLite, whose statements run in a separate thread (statement-worker.ts).
// In the main thread, each commit would block all requests until the commit is on disk.

import Database from "better-sqlite3";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { BoundStatement, Row, StatementOutcome } from "./statement-worker.ts";
import { startThread, type Thread } from "./thread.ts";

/**
 * Returns a dialect with a single connection, so other statements wait while a transaction is open.
 * A transaction takes the write lock when it begins. Otherwise, the thread that saves records could
 * commit between the transaction's first read and first write. The write would then fail
 * (SQLITE_BUSY_SNAPSHOT).
 *
 * @param onEnd called once, when the thread ends or fails
 */
export function sqliteDialect(file: string, onEnd: (cause: Error) => void): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => openDriver(file, onEnd),
  };
}

function openDriver(file: string, onEnd: (cause: Error) => void): Driver {
  const module = new URL("./statement-worker.ts", import.meta.url);
  const thread: Thread<BoundStatement, StatementOutcome> = startThread(module, {
    ...{ file, name: "statement", onEnd },
  });
  const run = (sql: string) => async (connection: DatabaseConnection) => {
    await connection.executeQuery(CompiledQuery.raw(sql));
  };
  return {
    init: async () => {},
    acquireConnection: async () => connectionTo(thread),
    beginTransaction: run("begin immediate"),
    commitTransaction: run("commit"),
    rollbackTransaction: run("rollback"),
    releaseConnection: async () => {},
    destroy: () => thread.stop(),
  };
}

function connectionTo(thread: Thread<BoundStatement, StatementOutcome>): DatabaseConnection {
  return {
    async executeQuery<Result>({ sql, parameters }: CompiledQuery) {
      const outcome = await thread.ask({ sql, parameters: parameters.map(alone) });
      if (outcome.kind === "error") throw outcome.error;
      if (outcome.kind === "sqlite_error") {
        throw new Database.SqliteError(outcome.message, outcome.code);
      }
      if (outcome.kind === "rows") return { rows: outcome.rows.map(withBuffers) as Result[] };
      const { changes, lastInsertRowid } = outcome;
      return {
        numAffectedRows: BigInt(changes),
        insertId: BigInt(lastInsertRowid),
        rows: [],
      };
    },
    streamQuery() {
      throw new Error("statements on SQLite are not streamed");
    },
  };
}

/**
 * Copies a Buffer that is part of a larger memory block. Without the copy, the whole block would be
 * sent to the thread.
 */
function alone(value: unknown): unknown {
  const isPart = value instanceof Uint8Array && value.byteLength < value.buffer.byteLength;
  return isPart ? new Uint8Array(value) : value;
}

/**
 * Converts each Uint8Array of a row to a Buffer. A Buffer that is sent to another thread arrives as
 * a Uint8Array.
 */
function withBuffers(row: Row): Row {
  for (const name in row) {
    const value = row[name];
    if (value instanceof Uint8Array) {
      row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  }
  return row;
}
