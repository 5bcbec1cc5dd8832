// The parts that the executor's core is given. Clock, randomness and waiting come from here, so
// that the simulator in test/ can repeat a history from a seed.

import type { Hex, Keccak } from "executable-address";
import { executionGasMax } from "../chain/execution-gas.ts";
import type { Endpoint } from "../chain/rpc/endpoint.ts";
import type { NetworkEvent } from "../chain/rpc/endpoint-record.ts";
import type { BlockPace } from "../chain/rpc/heads.ts";
import type { Block } from "../chain/rpc/json-rpc.ts";
import type { Network, Relays } from "../chain/rpc/network.ts";
import type { View } from "../chain/rpc/view.ts";
import type { FollowEvent, FollowMemory, FollowTuning } from "../follow/parts.ts";
import type { Created } from "../store/created.ts";
import type { LatePlace } from "./ledger/due.ts";
import type { Fence, Lease } from "./ledger/lease.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Purpose } from "./ledger/purposes.ts";
import type { BudgetLimits } from "./money/budgets.ts";
import type { DataFee, FeePolicy, Size } from "./money/fees.ts";
import type { TipPrices } from "./money/tips.ts";

/** An EIP-1559 transaction without value. */
export type UnsignedTransaction = {
  chainId: number;
  nonce: number;
  to: Hex;
  data: Hex;
  gas: number;
  maxFee: bigint;
  priorityFee: bigint;
};

/** A key that pays gas. Every signer passes signers.test.ts. */
export type Signer = {
  /** Lower case. */
  address: Hex;
  /**
   * The same transaction may give other bytes each time, of which any is valid.
   *
   * @throws {SignerRefused | ChainUnavailable} before a lease ends, in words that show no secret
   */
  sign(transaction: UnsignedTransaction): Promise<Hex>;
};

/**
 * `recoverMin`: base units of a token below which it is left where it is. `weiOf`: in wei, where
 * the token has a price; one without is judged by `recoverMin` alone. After `recoveriesPerDayMax`
 * recoveries of an address each further one of the day must be worth twice as much as the last.
 */
export type DecisionPolicy = {
  recoverMin: ReadonlyMap<Hex, bigint>;
  weiOf(token: Hex, amount: bigint): bigint | undefined;
  paidFailuresMax: number;
  recoveryFailuresMax: number;
  recoveriesPerDayMax: number;
};

/** One chain, as the executor works on it. Addresses lower case. */
export type ChainSettings = {
  chainId: number;
  tokens: readonly Hex[];
  /** Blocks on top of a receipt before it is final, and whether the finalized tag goes before. */
  confirmations: number;
  finality: "finalized" | "blocks";
  /** Blocks on top of a payment before it is acted on. */
  paymentConfirmations: number;
  decision: DecisionPolicy;
  /** Blocks after which a transaction that is not mined goes to all endpoints; absent: never. */
  sendFallbackBlocks: number | undefined;
  fees: FeePolicy;
  budgets: BudgetLimits;
  /** The operator's budgets pay for executions, tips do, or either. */
  pays: "sponsor" | "tips" | "both";
  tipPrices: TipPrices;
  /** Wei of the sender's balance below which operators are warned. */
  balanceWarnBelow: bigint;
};

/** Sizes and times that do not depend on a chain. Seconds are of the chain's clock. */
export type Tuning = FollowTuning & {
  pollMs: number;
  /** A lease whose row has not changed for so long, by the watcher's clock, may be taken. */
  leaseMs: number;
  /** A transaction that is not mined is sent again after so long. */
  resendMs: number;
  stuckSeconds: number;
  /** Gas limits of one transaction, where the chain allows so much, and of one intent in it. */
  batchGasMax: number;
  intentGasMax: number;
  /** One recovery that takes more is left to its owner. */
  recoveryGasMax: number;
  /** How long a pass asks for estimates of gas. */
  estimateMsMax: number;
  batchItemsMax: number;
  /** Nodes refuse transactions above 128 KiB. */
  batchBytesMax: number;
  inFlightMax: number;
  /** Due jobs worked on in one pass, at most; fewer where the free slots send no more. */
  jobsPerPass: number;
  /** New records looked at in one pass; 0: none ever. */
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

export type ExecutorEvent =
  | NetworkEvent
  | FollowEvent
  | { kind: "lease_taken"; epoch: number }
  | { kind: "lease_lost" }
  | {
      kind: "pass";
      blocksBehind: number;
      secondsBehind: number;
      due: number;
      /** How long the oldest payment has waited for the executor itself. */
      waitedSeconds: number;
      inFlight: number;
      scores: View["scores"];
      /** So much of the chain's budget of the day is spent, or may be by what is on its way. */
      budgetShare: number;
    }
  | { kind: "pass_failed"; message: string }
  | { kind: "corrupt_record"; address: Hex; cause: string }
  | { kind: "attempt_failed"; address: Hex; reason: string }
  | { kind: "given_up"; address: Hex; reason: string }
  | { kind: "sent"; purpose: Purpose["kind"]; nonce: number; hash: Hex; addresses: number }
  | { kind: "replaced"; nonce: number; hash: Hex }
  | { kind: "fee_capped"; nonce: number }
  | { kind: "send_refused"; nonce: number; rpc: string; message: string }
  | { kind: "executed" | "recovered"; address: Hex; hash: Hex }
  | {
      kind: "settled";
      purpose: Purpose["kind"];
      sender: Hex;
      nonce: number;
      paid: bigint;
      tips: bigint;
    }
  | { kind: "reopened"; nonce: number }
  | { kind: "nonce_foreign"; nonce: number; hash: Hex }
  | { kind: "nonces_written_off"; sender: Hex; count: number; wei: bigint }
  | { kind: "gap_filled"; nonce: number }
  | { kind: "late_jobs"; count: number }
  | { kind: "signer_failed"; sender: Hex; message: string }
  | { kind: "balance"; sender: Hex; wei: bigint; isLow: boolean }
  | { kind: "stopped_for_balance" };

type PlannedOrder = Pick<Purpose, "kind" | "gas" | "shares">;

export type Parts = {
  /** Names this process among the holders of leases. */
  instance: string;
  chain: ChainSettings;
  /** Lower case. */
  factory: Hex;
  /** Keccak-256 of the code that must be there, 32 bytes of hex. */
  factoryCodeHash: Hex;
  /** Addresses are derived with it. */
  keccak: Keccak;
  ledger: Ledger;
  endpoints: Endpoint[];
  /** Transactions go there in place of `endpoints`, if there are any. */
  relays: Endpoint[];
  /** The keys that pay gas. Every instance has the same. */
  signers: readonly [Signer, ...Signer[]];
  /** Milliseconds from anywhere; only differences are used. */
  clock: () => number;
  /** From 0 up to 1. */
  random: () => number;
  sleep: (ms: number) => Promise<void>;
  /** Lets the process's other work go on, in no time. */
  yieldTurn: () => Promise<void>;
  report: (event: ExecutorEvent) => void;
  /** Is told of the newest block whenever it was read, the same or another. */
  onHead?: (head: Block) => void;
  /** Is called when the payments of the pass are saved. */
  onSwept?: () => void;
  /** Is told of each transaction, and what it costs at most, in place of signing it. */
  onlyTell?: (order: PlannedOrder, sender: Hex, wei: bigint) => void;
  /** New blocks end its sleep: it need not expect them. */
  isTold: boolean;
  tuning: Tuning;
};

/** A process may lose all of it at any moment: everything that must survive is in the ledger. */
export type Memory = {
  network: Network;
  relays: Relays;
  fence: Fence | undefined;
  watched: { lease: Lease; sinceMs: number } | undefined;
  head: { hash: Hex; timestamp: number; sinceMs: number } | undefined;
  pace: BlockPace;
  rest: Rest;
  /** The chain as the last pass saw it. */
  view: View | undefined;
  /** The last pass left nothing to do until the next block. */
  isQuiet: boolean;
  /** How much of the chain's budget of a day since 1970 was taken when it was last read: 0 to 1. */
  budget: { day: number; share: number } | undefined;
  follow: FollowMemory;
  looks: Looks;
  holdings: HoldingsMemory;
  jobs: JobsMemory;
  transactions: TransactionsMemory;
};

export type HoldingsMemory = {
  /** Whose turn it is to be asked first. */
  turn: number;
  /** Holdings asked for in one call: fewer while endpoints do not answer for more. */
  perCallMax: number;
  /** Whether a token is the native coin, as far as it was asked. */
  nativeTokens: Map<Hex, boolean>;
};

export type JobsMemory = {
  /** Whose turn it is to be asked first. */
  estimateTurn: number;
  isFactoryThere: boolean;
  shortage: Shortage | undefined;
  late: LateWalk;
  /** The ledger showed it when it was last read. */
  waited: { seconds: number; atMs: number };
};

export type TransactionsMemory = {
  /** By key: its nonce as it was read, at which head, and when. */
  nonces: Map<Hex, { value: number; head: Hex; sinceMs: number }>;
  /** By key that did not sign: until when it is not asked again. */
  restingMs: Map<Hex, number>;
  dataFee: DataFee;
  sentMs: Map<Hex, number>;
  underpriced: Set<string>;
  /** By purpose whose transaction is refused as too large for any block: since which second. */
  hopeless: Map<string, number>;
  /** By purpose whose receipt is not final: its block. The receipt is read again once that is. */
  mined: Map<string, number>;
  /** Passes in a row in which a used nonce had no receipt of ours. */
  absent: Map<string, number>;
  /** By key: how many of its nonces the ledger does not know, and since when none was found. */
  unknown: Map<Hex, { count: number; sinceSeconds: number }>;
  /** When too few endpoints were last seen to trace transactions. */
  untracedMs: number;
};

/** `place`: where a walk over jobs stands; `beganMs`: when the last one began. */
type LateWalk = { place: LatePlace | undefined; beganMs: number; found: number };

/** A chain that sleeps, or may soon. Times by the process's clock. */
export type Rest = {
  isAsleep: boolean;
  /** The records up to this one are closed, by the chain's clock at `closedSeconds`. */
  closedSeq: number;
  closedSeconds: number;
  checkedMs: number;
  /** When the chain was last looked at, and how often since the last pass. */
  lookedMs: number;
  looks: number;
  awakeUntilMs: number;
};

export type Looks = {
  /** All up to this one were looked at, but for `again`; undefined before the first step. */
  seq: number | undefined;
  /** The `seq` that the ledger has, and when it was last written, by the process's clock. */
  kept: { seq: number; atMs: number };
  /**
   * Records that too few endpoints showed, until a time of the process's clock; one that none
   * showed, without end.
   */
  again: Map<Hex, Created & { untilMs: number }>;
  turn: number;
  /** When the walk began, by the process's clock, and whether its last step was at the end. */
  beganMs: number;
  isAtEnd: boolean;
  /** A gap came since it began: it is to begin again. */
  isOutdated: boolean;
  /** Records of one step: few, while endpoints do not answer for more. */
  stepMax: number;
};

/**
 * There is no money for gas. `least`: what the cheapest takes of those that were refused. When the
 * balance is read next, and when all are tried again, by the process's clock.
 */
export type Shortage = { least: Size; lookAtMs: number; tryAtMs: number };

/** One pass: who may write and who signs, what the chain looks like, and its clock in seconds. */
export type Pass = {
  parts: Parts;
  memory: Memory;
  fence: Fence;
  view: View;
  nowSeconds: number;
  /** The key whose turn it is. */
  signer: Signer;
};
