// Defines the parameters of the executor's modules: the parts that a program or a test provides
// (`Parts`), and the current pass over a chain (`Pass`). The clock, the random numbers, and the
// timers are among the parts, so that the simulator in test/ can replay a run from a seed. Each
// module defines a type for the state that it keeps between passes, and run.ts combines these
// types.

import type { Hex, Keccak } from "executable-address";
import { executionGasMax } from "../chain/execution-gas.ts";
import type { Endpoint } from "../chain/rpc/endpoint.ts";
import type { Block } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { FollowTuning } from "../follow/parts.ts";
import type { ExecutorEvent } from "./events.ts";
import type { Fence } from "./ledger/lease.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Purpose } from "./ledger/purposes.ts";
import type { BudgetLimits } from "./money/budgets.ts";
import type { FeePolicy } from "./money/fees.ts";
import type { TipPrices } from "./money/tips.ts";

/**
 * One pass over one chain. `Memory` is the state that a function needs from earlier passes, so the
 * function's signature shows which state it reads and changes.
 */
export type Pass<Memory = unknown> = {
  parts: Parts;
  memory: Memory;
  /** Allows this process to write for the chain. */
  fence: Fence;
  view: View;
  /** The time by the chain's clock. */
  nowSeconds: number;
  /**
   * The key that the functions in transactions/ use. `openKey` is called once for each key. `work`
   * uses the key with the most money. Everywhere else, the signer is the first key.
   */
  signer: Signer;
};

export type Parts = {
  /** The ID under which this process holds leases. */
  instance: string;
  chain: ChainSettings;
  /** Lower case. */
  factory: Hex;
  /**
   * Keccak-256 of the factory's code, 32 bytes of hex. If the code differs, the executor sends
   * nothing.
   */
  factoryCodeHash: Hex;
  /** The hash function that derives addresses. */
  keccak: Keccak;
  ledger: Ledger;
  endpoints: Endpoint[];
  /**
   * If there are relays, transactions are sent to them instead of to `endpoints` (see
   * `sendFallbackBlocks`).
   */
  relays: Endpoint[];
  /** The keys that pay gas. Every instance has the same keys. */
  signers: readonly [Signer, ...Signer[]];
  /** Returns milliseconds since an arbitrary point in time. Only differences are used. */
  clock: () => number;
  /** Returns a random number from 0 up to, but not including, 1. */
  random: () => number;
  /** Waits between passes. A new block can end the wait early. */
  sleep: (ms: number) => Promise<void>;
  /** Waits for exactly `ms` milliseconds. */
  timer: (ms: number) => Promise<void>;
  /** Lets the process do other work. */
  yieldTurn: () => Promise<void>;
  report: (event: ExecutorEvent) => void;
  /** Called with the newest block each time it is read, even if it is the same block as before. */
  onHead?: (head: Block) => void;
  /** Called after the pass has saved the payments that it found. */
  onSwept?: () => void;
  /**
   * If present, the executor calls this function with each transaction and its highest cost, and
   * does not sign the transaction.
   */
  onPlanned?: (order: PlannedOrder, sender: Hex, wei: bigint) => void;
  /**
   * Whether a new block ends `sleep`. If so, a poll does not have to wait until the next block is
   * expected.
   */
  isNotified: boolean;
  tuning: Tuning;
};

type PlannedOrder = Pick<Purpose, "kind" | "gas" | "shares">;

/** A key that pays gas. Every implementation passes signers.test.ts. */
export type Signer = {
  /** Lower case. */
  address: Hex;
  /**
   * Returns the signed transaction. Repeated calls can return different valid bytes.
   *
   * @throws {SignerRefused | ChainUnavailable} before a lease expires; the message contains no
   *   secrets
   */
  sign(transaction: UnsignedTransaction): Promise<Hex>;
};

/** An EIP-1559 transaction without value. Fees are in wei per gas. */
export type UnsignedTransaction = {
  chainId: number;
  nonce: number;
  to: Hex;
  data: Hex;
  gas: number;
  maxFee: bigint;
  priorityFee: bigint;
};

/** The settings of one chain. Addresses are lower case. */
export type ChainSettings = {
  chainId: number;
  tokens: readonly Hex[];
  /**
   * Look-alikes of `tokens`, each with an amount in base units. Transfers below this amount are
   * ignored.
   */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /** The number of blocks on top of a receipt's block after which the receipt is confirmed. */
  confirmations: number;
  /**
   * Whether a receipt is final when the `finalized` tag reaches its block, or after `confirmations`
   * blocks.
   */
  finality: "finalized" | "blocks";
  /** The number of blocks on top of a payment's block before the executor acts on the payment. */
  paymentConfirmations: number;
  decision: DecisionPolicy;
  /**
   * The number of blocks after which a pending transaction is also sent to the endpoints, and not
   * only to relays. If undefined, transactions are sent only to relays.
   */
  sendFallbackBlocks: number | undefined;
  fees: FeePolicy;
  budgets: BudgetLimits;
  /** What pays for executions: the operator's budgets, tips, or either. */
  pays: "sponsor" | "tips" | "both";
  tipPrices: TipPrices;
  /**
   * The maximum number of transactions for reported tokens (jobs/named.ts) per account and day. If
   * 0, the executor sends none.
   */
  namedTokensPerDay: number;
  /** Operators are warned if the balance of a key is below this value in wei. */
  balanceWarnBelow: bigint;
};

/** The limits of the rule in jobs/decide.ts. */
export type DecisionPolicy = {
  /** The smallest amount of each token that the executor returns, in base units. */
  recoverMin: ReadonlyMap<Hex, bigint>;
  /**
   * The smallest amounts for look-alike tokens. These amounts are higher, because the contract of a
   * look-alike can claim any balance.
   */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /**
   * Returns the value in wei, or undefined if the token has no price. Without a price, only
   * `recoverMin` decides whether the amount is returned.
   */
  convertToWei(token: Hex, amount: bigint): bigint | undefined;
  paidFailuresMax: number;
  recoveryFailuresMax: number;
  /**
   * The number of recoveries per address and day with the usual minimum value. For each additional
   * recovery on that day, the minimum value doubles.
   */
  recoveriesPerDayMax: number;
};

/** Limits and times that are the same for all chains. Times in seconds are by the chain's clock. */
export type Tuning = FollowTuning & {
  pollMs: number;
  /**
   * A process can take another process's lease if it has seen no change in the lease's row for this
   * time, by its own clock (`watchLease` in ledger/lease.ts).
   */
  leaseMs: number;
  /** A pending transaction is sent again after this time. */
  resendMs: number;
  stuckSeconds: number;
  /**
   * `batchGasMax`: the highest gas limit of a transaction, unless the chain's limit is lower.
   * `intentGasMax`: the highest gas limit of an intent in a transaction.
   */
  batchGasMax: number;
  intentGasMax: number;
  /**
   * The maximum gas for a recovery. The executor leaves a recovery that needs more gas to the
   * address's owner.
   */
  recoveryGasMax: number;
  /** The time limit for one round of gas estimates. */
  estimateMsMax: number;
  batchItemsMax: number;
  /** The size above which nodes refuse a transaction: 128 KiB. */
  batchBytesMax: number;
  inFlightMax: number;
  /** The maximum number of due jobs per pass. A pass works on fewer jobs if few slots are free. */
  jobsPerPass: number;
  /** The maximum number of new records whose balances a pass reads. If 0, a pass reads none. */
  recordsPerPass: number;
};

export const defaultTuning: Tuning = {
  pollMs: 1000,
  leaseMs: 15_000,
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
