// Opens an empty database for tests and benchmarks, in a temporary folder or on a new server.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../roles/open-store.ts";
import type { Dialect } from "../store/tables.ts";
import { startPostgres } from "./postgres.ts";

export type EmptyStore = Awaited<ReturnType<typeof openEmptyStore>>;

/** @param settings PostgreSQL's settings, as for {@link startPostgres} */
export async function openEmptyStore(dialect: Dialect, settings?: Record<string, string>) {
  const dataDirectory = mkdtempSync(join(tmpdir(), "store-"));
  const postgres = dialect === "postgres" ? await startPostgres(settings) : undefined;
  const databaseUrl = postgres?.url;
  const store = await openStore({ dataDirectory, databaseUrl });
  return {
    ...{ store, postgres },
    /** The database's URL, or the folder of the SQLite file. Other processes can open it too. */
    place: databaseUrl ?? dataDirectory,
    /** Closes the store and deletes the database. */
    async stop(): Promise<void> {
      await store.close();
      await postgres?.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}
