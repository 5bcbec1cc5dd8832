// Opens the configured database, with the tables of all parts of the service.

import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import * as accounts from "../accounts/tables.ts";
import * as events from "../events/tables.ts";
import * as executor from "../executor/tables.ts";
import * as follow from "../follow/tables.ts";
import type { Rooms } from "../store/migrate.ts";
import { lockDirectory } from "../store/sqlite/server-lock.ts";
import { openSqlite, sqliteFile } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import * as webhooks from "../webhooks/tables.ts";

/**
 * Opens PostgreSQL if `databaseUrl` is set. Otherwise, opens SQLite in `dataDirectory`. Creates
 * `dataDirectory` if it is missing, but not its parent directories. Resolves after all migrations
 * have run.
 *
 * @param isServer false for an operator's command, which can use the database while the server runs
 * @throws {InUseError} if another server uses the directory
 */
export async function openStore(
  config: { databaseUrl?: string | undefined; dataDirectory: string },
  isServer = true,
): Promise<Store> {
  if (config.databaseUrl) {
    const { openPostgres } = await import("../store/postgres.ts");
    return openPostgres(config.databaseUrl, rooms);
  }
  // Fails if the parent directory is missing, because the path may be misspelled.
  if (!existsSync(config.dataDirectory)) mkdirSync(config.dataDirectory, { mode: 0o700 });
  accessSync(config.dataDirectory, constants.W_OK);
  const file = sqliteFile(config.dataDirectory);
  if (!isServer) return openSqlite(file, rooms, false);
  const leave = lockDirectory(config.dataDirectory);
  try {
    const store = await openSqlite(file, rooms);
    return { ...store, close: () => store.close().finally(leave) };
  } catch (error) {
    leave();
    throw error;
  }
}

export const rooms: Rooms = {
  accounts,
  follow,
  executor,
  events,
  webhooks,
  "client-ids": { statements: accounts.clientIdStatements },
  returns: { statements: executor.returnStatements },
  lookalikes: { statements: events.lookalikeStatements },
  named: { statements: executor.reportedStatements },
  balances: { statements: events.balanceStatements },
  "events-elsewhere": { statements: events.elsewhereStatements },
};
