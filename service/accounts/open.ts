// What the HTTP service needs of accounts at every create: the limiter and the counters.

import type { Store } from "../store/store.ts";
import { type Limiter, memoryLimiter, withLocalFallback } from "./limits.ts";
import { postgresLimiter } from "./limits-postgres.ts";
import { countUsage, type Usage } from "./usage.ts";

export type Accounts = {
  limiter: Limiter;
  usage: Usage;
  /** Writes what was counted. The store must still be open. */
  close(): Promise<void>;
};

/** Faults that are survived, for the caller to count and log. */
export type Faults = { onLimiterFault(error: unknown): void; onUsageFault(error: unknown): void };

/** SQLite is one process's, so its limits are in memory; in PostgreSQL all servers share them. */
export function openAccounts(store: Pick<Store, "db" | "dialect">, faults: Faults): Accounts {
  const limiter =
    store.dialect === "postgres"
      ? withLocalFallback(postgresLimiter(store.db), faults.onLimiterFault)
      : memoryLimiter();
  const usage = countUsage(store.db, faults.onUsageFault);
  return { limiter, usage, close: () => usage.close() };
}
