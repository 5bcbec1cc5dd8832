// Opens the parts of accounts that the HTTP service needs: credentials, limits, usage, and sign-in.

import type { Store } from "../store/store.ts";
import { type Attempts, limitAttempts } from "./attempts.ts";
import { type Holders, openHolders } from "./credentials.ts";
import { type Limiter, memoryLimiter, postgresLimiter, withLocalFallback } from "./limits.ts";
import { findOrDrawSecret } from "./secret.ts";
import { openSignIn, type SignIn } from "./sign-in/sign-in.ts";
import { countUsage, type Usage } from "./usage.ts";

export type Accounts = {
  holders: Holders;
  limiter: Limiter;
  usage: Usage;
  signIn: SignIn;
  attempts: Attempts;
  signup: "open" | "closed";
  /** Writes the usage counts. The store must still be open. */
  close(): Promise<void>;
};

type AccountsConfig = {
  /** The URL at which browsers reach the service. */
  publicUrl: string;
  signup: "open" | "closed";
  /**
   * The maximum number of new accounts per network and day; 0 means unlimited. A network is a /24
   * of IPv4 or a /48 of IPv6.
   */
  accountsPerNetworkDay?: number;
  /**
   * The secret that signs session cookies, at least 32 characters. If absent, a secret is generated
   * at the first start and stored.
   */
  sessionSecret?: string | undefined;
};

/** Counts and logs faults that do not stop the service. */
export type Faults = { onLimiterFault(error: unknown): void; onUsageFault(error: unknown): void };

/**
 * With SQLite, there is only one process, so the limits are in memory. On PostgreSQL, all servers
 * share the limits.
 */
export async function openAccounts(
  store: Pick<Store, "db" | "dialect" | "prepared" | "readerOf">,
  { publicUrl, signup, sessionSecret, accountsPerNetworkDay }: AccountsConfig,
  faults: Faults,
): Promise<Accounts> {
  const secret = sessionSecret ?? (await findOrDrawSecret(store.db));
  const limiter =
    store.dialect === "postgres"
      ? withLocalFallback(postgresLimiter(store), faults.onLimiterFault)
      : memoryLimiter();
  const usage = countUsage(store.db, faults.onUsageFault);
  return {
    holders: openHolders(store),
    limiter,
    usage,
    signIn: openSignIn(store, { publicUrl, signup, secret }),
    attempts: limitAttempts(limiter, secret, accountsPerNetworkDay),
    signup,
    close: () => usage.close(),
  };
}
