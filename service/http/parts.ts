// The objects and functions on which the routes depend. roles/api.ts creates them. With `Pick`, a
// function can declare the parts that it uses. Its tests then create only these parts.

import type { Hex } from "executable-address";
import type { AddressStatus, ExecutorProgress } from "executable-address/status";
import type { Logger } from "pino";
import type { Accounts } from "../accounts/open.ts";
import type { Chains } from "../chain/registry.ts";
import type { ReportedFate, TokenReport } from "../chain/sent.ts";
import type { StatusReader } from "../chain/status/reader.ts";
import type { AddressOf, MovedElsewhere } from "../events/elsewhere/amounts.ts";
import type { ChainLoop } from "../follow/loop.ts";
import type { Store } from "../store/store.ts";
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
   * Returns the polling loop of this process for a chain.
   *
   * @throws {ChainUnavailable} if the chain is not configured
   */
  chainLoop: (chainId: number) => ChainLoop;
  executorClient: ExecutorClient;
  /**
   * The factory's address in EIP-55 form. All chains and all records in the store use this factory.
   */
  factory: Hex;
  /** The Keccak-256 function that is passed to the library (store/record.ts). */
  keccak: (bytes: Uint8Array) => Uint8Array;
  /**
   * The base URL at which clients reach the service, without `/v1` and without a trailing slash.
   */
  publicUrl: string;
  /** The URL of the developer documentation, to which the dashboard links. */
  docsUrl?: string | undefined;
  /** A URI for vulnerability reports, served as security.txt. */
  securityContact?: string | undefined;
  /** The names that the operator gave to contracts. Payers see these names. */
  labels: Labels;
  /** Restricts the hosts to which webhooks can be sent. `any` is for development. */
  webhookTargets?: "public" | "any";
  /**
   * The proxies whose `X-Forwarded-For` header is trusted. If this field is absent, the
   * connection's address is used as the client's IP address.
   */
  trustedProxies?: string | undefined;
  limits: Limits;
  /** The limits on event streams. The default applies to each limit that is absent. */
  eventLimits?: Partial<EventLimits>;
  metrics: Metrics;
  log: Logger;
  /** Unix milliseconds. */
  now: () => number;
  /**
   * Aborts when the server starts to shut down. Event streams then end, and `/readyz` returns 503.
   */
  draining: AbortSignal;
};

/**
 * The functions with which the routes communicate with the executor. The functions use the
 * database, because the executor can run in another process.
 */
type ExecutorClient = {
  /**
   * Returns the executor's progress for an address, or null if there is none. If the status shows
   * money that the executor does not know about, first wakes the address's job.
   */
  readProgressAndWake(status: AddressStatus): Promise<ExecutorProgress | null>;
  /**
   * Returns whether an executor is running on the chain and is not paused. A killed executor counts
   * as running for a minute after the last change of its lease.
   */
  isActive(chainId: number): Promise<boolean>;
  /** Returns the recoveries of an address on chains other than the intent's chain. */
  findReturns(request: AddressOf): Promise<MovedElsewhere[]>;
  /**
   * Asks the executor to return unlisted tokens that a payer reported. Returns the `fate` of each
   * token, in the order of `tokens`. The call is idempotent.
   */
  reportTokens(report: TokenReport): Promise<ReportedFate[]>;
  /**
   * Returns the newest gas costs of an account, with one row per chain and day. The newest day is
   * first. dashboard/answers.ts describes the fields.
   */
  readGasSpent(accountId: string): Promise<GasDay[]>;
};

/**
 * The same fields as `gasDay` of dashboard/answers.ts, which may import nothing from the service.
 * The compiler compares both types and the executor's rows.
 */
type GasDay = {
  chainId: number;
  day: string;
  gasWei: string;
  tipsWei: string;
  wei: string;
  clientIdWei: string;
  failedTipsWei: string;
};
