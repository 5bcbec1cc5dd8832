// Routes are built from these parts. Each asks for those it uses.

import type { Hex } from "executable-address";
import type { AddressStatus, ExecutorProgress } from "executable-address/status";
import type { Logger } from "pino";
import type { Accounts } from "../accounts/open.ts";
import type { Chains } from "../chain/registry.ts";
import type { StatusReader } from "../chain/status/reader.ts";
import type { ChainLoop } from "../follow/loop.ts";
import type { Store } from "../store/store.ts";
import type { EventLimits, Limits } from "./limits.ts";
import type { Metrics } from "./metrics.ts";

/** The operator's names for contracts: by chain id, then by address in lower case. */
export type Labels = ReadonlyMap<number, Readonly<Record<string, string>>>;

export type Parts = {
  store: Store;
  accounts: Accounts;
  chains: Chains;
  /** Reads a chain's statuses. @throws {ChainUnavailable} if it is not configured */
  statusReader: (chainId: number) => StatusReader;
  /** The process's loop of a chain. @throws {ChainUnavailable} if it is not configured */
  chainLoop: (chainId: number) => ChainLoop;
  desk: ExecutorDesk;
  /** EIP-55; the same on every chain. */
  factory: Hex;
  /** 32 bytes of Keccak-256, for the library: that of store/record.ts. */
  keccak: (bytes: Uint8Array) => Uint8Array;
  /** Base of the API as clients reach it, `/v1` not included, no trailing slash. */
  publicUrl: string;
  /** The documentation for developers; the dashboard links to it. */
  docsUrl?: string | undefined;
  /** A URI for reports of weaknesses, served as security.txt. */
  securityContact?: string | undefined;
  /** Shown to payers. */
  labels: Labels;
  /** Webhooks may go there; `any` is for development. */
  webhookTargets?: "public" | "any";
  /** Addresses whose `X-Forwarded-For` is believed; without any, the client is the peer itself. */
  trustedProxies?: string | undefined;
  limits: Limits;
  /** These take the place of the defaults. */
  eventLimits?: Partial<EventLimits>;
  metrics: Metrics;
  log: Logger;
  /** Unix milliseconds. */
  now: () => number;
  /** Aborted when the server begins to drain: streams end, `/readyz` says no. */
  draining: AbortSignal;
};

/** The executor as the routes see it; it may be another process on the same database. */
type ExecutorDesk = {
  /**
   * Tells what the executor has in hand for the address of `status`; null while it has nothing.
   * If the status shows money that the executor does not know of, it is told first.
   */
  progressOf(status: AddressStatus): Promise<ExecutorProgress | null>;
  /** By chain and day of its clock, newest first: the last 31 rows. */
  gasSpentFor(accountId: string): Promise<AccountGas[]>;
};

/** `GasDay` of dashboard/answers.ts explains the fields. */
type AccountGas = {
  chainId: number;
  day: string;
  gasWei: string;
  tipsWei: string;
  wei: string;
  clientIdWei: string;
  failedTipsWei: string;
};
