// Defines the parameters of the executor's modules. A program or a test provides `Parts`, including
// the clock, random numbers, and timers. Therefore, the simulator in test/ can replay a run from a
// seed. Each pass creates a `Pass`.

import type { Hex, Keccak } from "executable-address";
import { executionGasMax } from "../chain/execution-gas.ts";
import type { Endpoint } from "../chain/rpc/endpoint.ts";
import type { Block } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { FollowTuning } from "../follow/context.ts";
import type { ExecutorEvent } from "./events.ts";
import type { Fence } from "./ledger/lease.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Purpose } from "./ledger/purposes.ts";
import type { BudgetLimits } from "./money/budgets.ts";
import type { FeePolicy } from "./money/fees.ts";
import type { TipPrices } from "./money/tips.ts";

/**
 * One run of the executor's work on a chain. `memory` is the state that the loop keeps between
 * passes. With the type `Memory`, a function declares which parts of this state it uses.
 */
export type Pass<Memory = unknown> = {
  parts: Parts;
  memory: Memory;
  /** The lease that allows this process to write the chain's data. */
  fence: Fence;
  view: View;
  /** The current block time, including the time since the newest block. */
  nowSeconds: number;
  /**
   * The key that signs. The functions in transactions/ handle one key, and `signer` is that key. In
   * `work`, `signer` is the key with the most money. Everywhere else, it is the first key.
   */
  signer: Signer;
};

export type Parts = {
  /** The ID of this process in the leases. */
  instance: string;
  chain: ChainSettings;
  /** The factory's address, in lower case. */
  factory: Hex;
  /**
   * Keccak-256 of the factory's code, 32 bytes of hex. If the code differs, the executor sends
   * nothing.
   */
  factoryCodeHash: Hex;
  /** The hash function for deriving addresses. */
  keccak: Keccak;
  ledger: Ledger;
  endpoints: Endpoint[];
  /**
   * If this list is not empty, these relays receive the transactions instead of `endpoints` (see
   * `sendFallbackBlocks`).
   */
  relays: Endpoint[];
  /** The keys that pay gas. All executors of a service have the same keys. */
  signers: readonly [Signer, ...Signer[]];
  /** Returns milliseconds of a monotonic clock. */
  clock: () => number;
  /** Returns a random number in the range [0, 1). */
  random: () => number;
  /**
   * Waits between two polls. With a WebSocket, the wait can take longer than `ms`, until an
   * endpoint reports a new block (chain/rpc/heads-by-websocket.ts).
   */
  sleep: (ms: number) => Promise<void>;
  /** Waits for `ms` milliseconds. */
  timer: (ms: number) => Promise<void>;
  /** Waits until other tasks of the process have run. */
  yieldTurn: () => Promise<void>;
  report: (event: ExecutorEvent) => void;
  /** Called after each read of the newest block, even if the block is unchanged. */
  onHead?: (head: Block) => void;
  /** Called after each sweep, whether or not it found payments. */
  onSwept?: () => void;
  /** Dry run: called with each transaction and its highest cost in wei, instead of signing it. */
  onPlanned?: (order: PlannedOrder, sender: Hex, wei: bigint) => void;
  /**
   * Whether the chain has a WebSocket URL, even if no socket is open. If so, no poll is skipped
   * because the next block is not expected yet (rest.ts).
   */
  hasWebSocket: boolean;
  tuning: Tuning;
};

type PlannedOrder = Pick<Purpose, "kind" | "gas" | "shares">;

/** A key that pays gas. */
export type Signer = {
  /** The key's address, in lower case. */
  address: Hex;
  /**
   * Returns the signed transaction. Another call with the same transaction can return different
   * bytes.
   *
   * @throws {SignerRefused | ChainUnavailable} if the signer refuses, or does not answer before a
   *   lease could expire. The error's message contains no secrets
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
  /** The maximum number of transactions for reported tokens (jobs/named.ts) per account and day. */
  namedTokensPerDay: number;
  /** The executor warns operators if a key has less than this amount in wei. */
  balanceWarnBelow: bigint;
};

/** The settings for jobs/decide.ts. */
export type DecisionPolicy = {
  /** The smallest amount of each token that the executor returns, in base units. */
  recoverMin: ReadonlyMap<Hex, bigint>;
  /**
   * The smallest amounts for look-alike tokens. These amounts are higher, because the contract of a
   * look-alike can report any balance.
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
  /** After this number of executions has failed on chain, the intent is no longer executed. */
  paidFailuresMax: number;
  /** After this number of recoveries has failed on chain, the address is given up. */
  recoveryFailuresMax: number;
  /**
   * The number of recoveries per address and day with the normal minimum value. For each further
   * recovery on this day, the minimum value doubles.
   */
  recoveriesPerDayMax: number;
};

/** Settings that are the same for all chains. */
export type Tuning = FollowTuning & {
  pollMs: number;
  /**
   * A process can take a lease that is unchanged for this time (`openLeaseWatch` in
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
  /** A recovery that needs more gas is left to the address's owner. */
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
