// What the executor's modules receive: the parts that a program or a test provides, and one pass
// over a chain. Time, randomness, and waiting are parts, so that the simulator in test/ can repeat
// a history from a seed. What a module remembers between passes is a type of its own, next to the
// code that uses it; run.ts composes them.

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
 * One pass over one chain. `Memory` is the part of the chain's memory that a function uses, so its
 * signature shows what it reads and changes.
 */
export type Pass<Memory = unknown> = {
  parts: Parts;
  memory: Memory;
  /** Allows this process to write for the chain. */
  fence: Fence;
  view: View;
  /** The chain's clock. */
  nowSeconds: number;
  /** The key that the functions of transactions/ work with. */
  signer: Signer;
};

export type Parts = {
  /** Identifies this process among the holders of leases. */
  instance: string;
  chain: ChainSettings;
  /** Lower case. */
  factory: Hex;
  /** Keccak-256 of the factory's code, 32 bytes of hex. Nothing is sent to other code. */
  factoryCodeHash: Hex;
  /** Used to derive addresses. */
  keccak: Keccak;
  ledger: Ledger;
  endpoints: Endpoint[];
  /** If there are any, transactions go to them instead of `endpoints`. */
  relays: Endpoint[];
  /** The keys that pay gas. Every instance has the same keys. */
  signers: readonly [Signer, ...Signer[]];
  /** Milliseconds since any point in time; only differences are used. */
  clock: () => number;
  /** Returns a number from 0 up to 1. */
  random: () => number;
  sleep: (ms: number) => Promise<void>;
  /** Yields to other work of the process. */
  yieldTurn: () => Promise<void>;
  report: (event: ExecutorEvent) => void;
  /** Called with the newest block whenever it was read, even if it is the same as before. */
  onHead?: (head: Block) => void;
  /** Called after the pass has saved the payments that it found. */
  onSwept?: () => void;
  /** If present, called with each transaction and its highest cost, instead of signing it. */
  onPlanned?: (order: PlannedOrder, sender: Hex, wei: bigint) => void;
  /** New blocks end `sleep`, so a poll need not wait until the next block is expected. */
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
   * @throws {SignerRefused | ChainUnavailable} before a lease ends, with a message without secrets
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
  /** Look-alikes of these, with the base units below which a transfer is ignored. */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /** Blocks on top of a receipt before it is final. */
  confirmations: number;
  /** Whether a receipt is final at the `finalized` tag, or after `confirmations` blocks. */
  finality: "finalized" | "blocks";
  /** Blocks on top of a payment before the executor acts on it. */
  paymentConfirmations: number;
  decision: DecisionPolicy;
  /** Blocks after which a pending transaction goes to all endpoints; undefined: never. */
  sendFallbackBlocks: number | undefined;
  fees: FeePolicy;
  budgets: BudgetLimits;
  /** Executions are paid for by the operator's budgets, by tips, or by either. */
  pays: "sponsor" | "tips" | "both";
  tipPrices: TipPrices;
  /** Transactions per account and day that return named tokens (jobs/named.ts); 0: none. */
  namedTokensPerDay: number;
  /** The balance of a key in wei below which operators are warned. */
  balanceWarnBelow: bigint;
};

/** The limits of the rule in jobs/decide.ts. */
export type DecisionPolicy = {
  /** Base units of a token below which it is not returned. */
  recoverMin: ReadonlyMap<Hex, bigint>;
  /**
   * The same limit for look-alikes, which is higher because their contracts can claim any balance.
   */
  lookalikes: ReadonlyMap<Hex, bigint>;
  /**
   * Returns the value in wei; undefined if the token has no price, so that `recoverMin` decides.
   */
  convertToWei(token: Hex, amount: bigint): bigint | undefined;
  paidFailuresMax: number;
  recoveryFailuresMax: number;
  /**
   * Each recovery of an address beyond this number must be worth twice as much as the previous one
   * of that day.
   */
  recoveriesPerDayMax: number;
};

/** Sizes and times that do not depend on a chain. Seconds are of the chain's clock. */
export type Tuning = FollowTuning & {
  pollMs: number;
  /** A lease can be taken if its row did not change for this long, by the watcher's clock. */
  leaseMs: number;
  /** A pending transaction is sent again after this time. */
  resendMs: number;
  stuckSeconds: number;
  /** The gas limit of one transaction, unless the chain's is lower, and of one intent in it. */
  batchGasMax: number;
  intentGasMax: number;
  /** A recovery that needs more gas is left to its owner. */
  recoveryGasMax: number;
  /** Time that a pass spends on estimates of gas. */
  estimateMsMax: number;
  batchItemsMax: number;
  /** The size above which nodes refuse a transaction: 128 KiB. */
  batchBytesMax: number;
  inFlightMax: number;
  /** The most due jobs that a pass works on; fewer if the free slots cannot send as many. */
  jobsPerPass: number;
  /** New records whose balances a pass reads; 0: none. */
  looksPerPass: number;
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
  looksPerPass: 450,
};
