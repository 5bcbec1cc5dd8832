// The dependencies of the routes. Most routes declare only the dependencies that they use.

import type { Hex } from "executable-address";
import type { AddressStatus, ExecutorProgress } from "executable-address/status";
import type { Logger } from "pino";
import type { Accounts } from "../accounts/open.ts";
import type { Chains } from "../chain/registry.ts";
import type { NamedFate, NewNames } from "../chain/sent.ts";
import type { StatusReader } from "../chain/status/reader.ts";
import type { AddressOf, MovedElsewhere } from "../events/elsewhere/amounts.ts";
import type { ChainLoop } from "../follow/loop.ts";
import type { Store } from "../store/store.ts";
import type { GasDay } from "./answers.ts";
import type { EventLimits, Limits } from "./limits.ts";
import type { Metrics } from "./metrics.ts";

/** The operator's names for contracts, by chain ID, then by lowercase address. */
export type Labels = ReadonlyMap<number, Readonly<Record<string, string>>>;

export type Parts = {
  store: Store;
  accounts: Accounts;
  chains: Chains;
  /**
   * Returns the status reader of a chain.
   *
   * @throws {ChainUnavailable} if the chain is not configured
   */
  statusReader: (chainId: number) => StatusReader;
  /**
   * Returns this process's loop of a chain.
   *
   * @throws {ChainUnavailable} if the chain is not configured
   */
  chainLoop: (chainId: number) => ChainLoop;
  desk: ExecutorDesk;
  /** The factory's address in EIP-55 form, which is the same on every chain. */
  factory: Hex;
  /** The Keccak-256 function of store/record.ts, which is passed to the library. */
  keccak: (bytes: Uint8Array) => Uint8Array;
  /**
   * The base URL at which clients reach the service, without `/v1` and without a trailing slash.
   */
  publicUrl: string;
  /** The URL of the developer documentation, to which the dashboard links. */
  docsUrl?: string | undefined;
  /** A URI for vulnerability reports, served as security.txt. */
  securityContact?: string | undefined;
  /** The operator's names for contracts, which payers see. */
  labels: Labels;
  /** The hosts to which webhooks may be sent; `any` is for development. */
  webhookTargets?: "public" | "any";
  /**
   * The proxies whose `X-Forwarded-For` header is trusted. If absent, the address of the connection
   * is the client's address.
   */
  trustedProxies?: string | undefined;
  limits: Limits;
  /** Limits that replace their defaults. */
  eventLimits?: Partial<EventLimits>;
  metrics: Metrics;
  log: Logger;
  /** Unix milliseconds. */
  now: () => number;
  /** Aborts when the server begins to drain. Streams then end, and `/readyz` returns 503. */
  draining: AbortSignal;
};

/**
 * Connects the routes to the executor through the database, because the executor can run in another
 * process.
 */
type ExecutorDesk = {
  /**
   * Returns the progress of the executor's work for the status's address, or null if there is no
   * work. If the status shows money that the executor does not know about, notifies the executor
   * first.
   */
  readProgress(status: AddressStatus): Promise<ExecutorProgress | null>;
  /** Returns whether an executor has the lease of the chain and is not paused. */
  isActive(chainId: number): Promise<boolean>;
  /** Returns the recoveries of an address on all chains except the intent's. */
  findReturns(request: AddressOf): Promise<MovedElsewhere[]>;
  /**
   * Queues the return of unlisted tokens that a payer reported. Returns what happens to each token
   * (`fate`), in the same order as `tokens`. The call is idempotent.
   */
  nameTokens(named: NewNames): Promise<NamedFate[]>;
  /**
   * Returns the gas that was spent for an account, with one row per chain and day. Returns the
   * newest 31 rows, newest first.
   */
  readGasSpent(accountId: string): Promise<GasDay[]>;
};
