// Sets up the account functions of the HTTP service: credentials, rate limits, usage counts, and
// sign-in.

import type { Store } from "../store/store.ts";
import { type Attempts, limitAttempts } from "./attempts.ts";
import { type Holders, openHolders } from "./credentials.ts";
import { type Limiter, memoryLimiter, postgresLimiter, withLocalFallback } from "./limits.ts";
import { ensureSecret } from "./secret.ts";
import { openSignIn, type SignIn } from "./sign-in/sign-in.ts";
import { countUsage, type Usage } from "./usage.ts";

export type Accounts = {
  holders: Holders;
  limiter: Limiter;
  usage: Usage;
  signIn: SignIn;
  attempts: Attempts;
  signup: "open" | "closed";
  /** Writes the remaining usage counts. Must be called before the database is closed. */
  close(): Promise<void>;
};

type AccountsConfig = {
  /** The URL at which browsers reach the service. */
  publicUrl: string;
  signup: "open" | "closed";
  /**
   * The maximum number of new accounts per IP network and day, or 0 for no limit. A network is a
   * /24 of IPv4 or a /48 of IPv6.
   */
  accountsPerNetworkDay?: number;
  /**
   * The secret that signs session cookies, with at least 32 characters. By default, the service
   * generates the secret at its first start, and stores it in the database.
   */
  sessionSecret?: string | undefined;
};

/** Called for errors that do not stop the service. */
export type Faults = { onLimiterFault(error: unknown): void; onUsageFault(error: unknown): void };

/**
 * Creates the functions of {@link Accounts}. With SQLite, there is only one server, which stores
 * the state of the rate limits in memory. With PostgreSQL, all servers share this state.
 */
export async function openAccounts(
  store: Pick<Store, "db" | "dialect" | "prepared" | "readerOf">,
  { publicUrl, signup, sessionSecret, accountsPerNetworkDay }: AccountsConfig,
  faults: Faults,
): Promise<Accounts> {
  const secret = sessionSecret ?? (await ensureSecret(store.db));
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
