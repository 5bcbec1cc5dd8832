// Defines the settings of the executor: the settings of each chain, and the tuning that is the same
// for all chains.

import type { Hex } from "executable-address";
import { executionGasMax } from "../chain/gas-limits.ts";
import type { FollowTuning } from "../follow/context.ts";
import type { BudgetLimits } from "./money/budgets.ts";
import type { FeePolicy } from "./money/fees.ts";
import type { TipPrices } from "./money/tips.ts";

/** The settings of one chain. Addresses are lowercase. */
export type ChainSettings = {
  chainId: number;
  tokens: readonly Hex[];
  /**
   * Tokens that imitate one of `tokens`. The value for each token is a minimum in base units:
   * smaller transfers are ignored.
   */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /** A receipt is confirmed when this number of later blocks has been mined. */
  confirmations: number;
  /**
   * A receipt is final when the `finalized` tag reaches its block, or after `confirmations` blocks.
   */
  finality: "finalized" | "blocks";
  /** The executor acts on a payment only after this number of further blocks has been mined. */
  paymentConfirmations: number;
  decision: DecisionPolicy;
  /**
   * The number of pending blocks after which relayed transactions are also sent to the normal
   * endpoints. If undefined, this never happens.
   */
  sendFallbackBlocks: number | undefined;
  fees: FeePolicy;
  budgets: BudgetLimits;
  /** The source of the money for executions: the operator's budgets, tips, or both. */
  pays: "sponsor" | "tips" | "both";
  tipPrices: TipPrices;
  /** The maximum number of returns of reported tokens per account, chain, and day. */
  reportedTokensPerDay: number;
  /** The executor warns operators if a key has less than this amount in wei. */
  balanceWarnBelow: bigint;
};

/** The settings for jobs/decide.ts. */
export type DecisionPolicy = {
  /** The smallest amount of each token that the executor returns, in base units. */
  recoverMin: ReadonlyMap<Hex, bigint>;
  /**
   * The smallest amount of each look-alike token that the executor returns, in base units. These
   * amounts are higher than in `recoverMin`, because the contract of a look-alike can report any
   * balance.
   */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /**
   * Returns the value in wei, or undefined if the token has no price. In that case, only
   * `recoverMin` decides whether the amount is returned.
   */
  convertToWei(token: Hex, amount: bigint): bigint | undefined;
} & AttemptLimits;

/** `attemptLimits` in jobs/decide.ts gives the values and their reasons. */
export type AttemptLimits = {
  /** The number of failed executions on chain after which the intent is no longer executed. */
  paidFailuresMax: number;
  /** The number of failed recoveries on chain after which the address is abandoned. */
  recoveryFailuresMax: number;
  /**
   * The number of recoveries per address and day with the normal minimum value. Each further
   * recovery on the same day doubles the minimum value.
   */
  recoveriesPerDayMax: number;
};

/** Settings that are the same for all chains. */
export type Tuning = FollowTuning & {
  pollMs: number;
  /**
   * A process can take a lease that has not changed for this time (`openLeaseWatch` in
   * ledger/lease.ts).
   */
  leaseMs: number;
  /** A pending transaction is sent again after this time. */
  resendMs: number;
  stuckSeconds: number;
  /**
   * `batchGasMax` is the highest gas limit of a transaction, unless the chain's limit is lower.
   * `intentGasMax` is the highest gas limit of a single execution.
   */
  batchGasMax: number;
  intentGasMax: number;
  /**
   * The maximum gas of a recovery that the executor sends. The address's owner can send any
   * recovery.
   */
  recoveryGasMax: number;
  /** The time limit for the gas estimates in one pass. */
  estimateMsMax: number;
  batchItemsMax: number;
  /** The maximum size of a transaction. Nodes refuse transactions above 128 KiB. */
  batchBytesMax: number;
  inFlightMax: number;
  /** The maximum number of due jobs in one pass. */
  jobsPerPass: number;
  /** The maximum number of new records whose balances are read in one pass. */
  recordsPerPass: number;
};

/**
 * The default and the minimum of `leaseMs`. This time exceeds the longest call to an endpoint (12 s
 * with retries, see `rpcTimeoutMs` in start.ts) and the longest remote signature (8 s).
 */
export const leaseMsMin = 15_000;

/**
 * The longest time between two polls: the maximum of `EXECUTOR_POLL_MS`, and the longest wait for a
 * block that a WebSocket announces. An executor renews its lease with each poll and each write.
 */
export const renewalMsMax = 10_000;

/** Returns the time after which the holder of a lease of `leaseMs` milliseconds must renew it. */
export const renewalMs = (leaseMs: number): number => Math.min(renewalMsMax, leaseMs / 3);

export const defaultTuning: Tuning = {
  pollMs: 1000,
  leaseMs: leaseMsMin,
  resendMs: 10_000,
  stuckSeconds: 45,
  batchGasMax: 12_000_000,
  intentGasMax: executionGasMax,
  recoveryGasMax: 1_000_000,
  estimateMsMax: 4000,
  batchItemsMax: 50,
  batchBytesMax: 100_000,
  inFlightMax: 16,
  jobsPerPass: 1000,
  rangeBlocksMax: 5000,
  rangesPerPass: 10,
  resweepBlocks: 6,
  recipientsMax: 1000,
  recordsPerPass: 450,
};
