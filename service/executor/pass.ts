// Defines the parameters of the executor's modules. A program or a test provides `Parts`, including
// the clock, random numbers, and timers. Therefore, the simulator in test/ can replay a run from a
// seed. Each pass creates a `Pass`.

import type { Hex, Keccak } from "executable-address";
import type { Endpoint } from "../chain/rpc/endpoint.ts";
import type { Block } from "../chain/rpc/json-rpc.ts";
import type { View } from "../chain/rpc/view.ts";
import type { ExecutorEvent } from "./events/event.ts";
import type { Fence } from "./ledger/lease.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { ChainSettings, Tuning } from "./settings.ts";

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
  /** The chain's estimated current time: the newest block's timestamp plus the time since then. */
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
  /** The factory's address, in lowercase. */
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
  waitForPoll: (ms: number) => Promise<void>;
  /** Waits for `ms` milliseconds. */
  sleep: (ms: number) => Promise<void>;
  /** Waits until other tasks of the process have run. */
  yieldTurn: () => Promise<void>;
  report: (event: ExecutorEvent) => void;
  /** Called after each read of the newest block, even if the block is unchanged. */
  onHead?: (head: Block) => void;
  /** Called after each sweep, whether or not it found payments. */
  onSwept?: () => void;
  /**
   * Whether the chain has a WebSocket URL, even if no socket is open. Without a WebSocket URL,
   * polls are skipped until the next block is expected (decide-poll.ts).
   */
  hasWebSocket: boolean;
  tuning: Tuning;
};

/** A key that pays gas. */
export type Signer = {
  /** The key's address, in lowercase. */
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
