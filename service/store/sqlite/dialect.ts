// SQLite as Kysely speaks it, within the thread that answers requests. SQLite answers at once, so
// that one statement follows the other without a turn of the event loop: a search of 40 statements
// stopped everybody else for 30 ms, 2,000 payments in a block for 400 ms.

import type Database from "better-sqlite3";
import { CompiledQuery, type DatabaseConnection, type Dialect, SqliteDialect } from "kysely";

/** After so long the next statement waits for the next turn. */
const turnMsMax = 2;

/**
 * Kysely's own, but its statements give up the turn, and its transactions take the write lock as
 * they begin: one that reads first, while the writing thread commits, could not write any more
 * (SQLITE_BUSY_SNAPSHOT).
 */
export function sqliteDialect(database: Database.Database): Dialect {
  const dialect = new SqliteDialect({ database });
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver() {
      const driver = dialect.createDriver();
      let connection: DatabaseConnection | undefined;
      const acquire = driver.acquireConnection.bind(driver);
      driver.acquireConnection = async (options) => {
        connection ??= inTurns(await acquire(options));
        return connection;
      };
      driver.beginTransaction = async (connection) => {
        await connection.executeQuery(CompiledQuery.raw("begin immediate"));
      };
      return driver;
    },
  };
}

/** Other requests have their turn between two statements, also of one transaction. */
function inTurns(connection: DatabaseConnection): DatabaseConnection {
  let beganAt: number | undefined;
  const execute: DatabaseConnection["executeQuery"] = connection.executeQuery.bind(connection);
  connection.executeQuery = async (query, options) => {
    if (beganAt !== undefined && performance.now() - beganAt > turnMsMax) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (beganAt === undefined) {
      beganAt = performance.now();
      setImmediate(() => {
        beganAt = undefined;
      });
    }
    return execute(query, options);
  };
  return connection;
}
