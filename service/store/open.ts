// Which store the configuration asks for.

import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";

/**
 * PostgreSQL where there is a `databaseUrl`, otherwise SQLite in `dataDirectory`, which is made
 * when only its last part is not there. Migrations have run when this resolves.
 *
 * @param isServer false for an operator's command that runs beside the server
 */
export async function openStore(
  config: { databaseUrl?: string | undefined; dataDirectory: string },
  isServer = true,
): Promise<Store> {
  if (config.databaseUrl) return openPostgres(config.databaseUrl);
  // Not its parents: a path misspelled near its root is better refused than made.
  if (!existsSync(config.dataDirectory)) mkdirSync(config.dataDirectory, { mode: 0o700 });
  accessSync(config.dataDirectory, constants.W_OK);
  return openSqlite(join(config.dataDirectory, "service.db"), isServer);
}
