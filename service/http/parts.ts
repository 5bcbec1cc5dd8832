// The parts from which routes are built. Many routes declare only the parts that they use.

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
  /** The Keccak-256 of store/record.ts, for the library. */
  keccak: (bytes: Uint8Array) => Uint8Array;
  /** The base URL of the service for clients, without `/v1` and without a trailing slash. */
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
   * Proxies whose `X-Forwarded-For` header is trusted. If there are none, the peer of a connection
   * counts as the client.
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

/** Gives routes access to the executor, which can be another process on the same database. */
type ExecutorDesk = {
  /**
   * Returns the executor's work in progress for the address of `status`, or null if there is none.
   * If the status shows money that the executor does not know about, notifies the executor first.
   */
  readProgress(status: AddressStatus): Promise<ExecutorProgress | null>;
  /** Returns whether an executor has the lease of the chain and is not paused. */
  isActive(chainId: number): Promise<boolean>;
  /** Returns the recoveries from an address on chains other than the intent's chain. */
  findReturns(request: AddressOf): Promise<MovedElsewhere[]>;
  /**
   * Queues the return of tokens that are on no list. Returns the fate of each token, in the order
   * of `tokens`. The call is idempotent.
   */
  nameTokens(named: NewNames): Promise<NamedFate[]>;
  /**
   * Returns the gas spent for an account, with one row per chain and day. Returns the newest 31
   * rows, newest first.
   */
  readGasSpent(accountId: string): Promise<GasDay[]>;
};
