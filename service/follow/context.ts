// The parts of a sweep: the chain, its view, access to the database, settings, and memory. The
// sweeps of a chain share the memory. Sweeps are correct without the memory, so a restart can lose
// it.

import type { Hex } from "executable-address";
import type { Kysely } from "kysely";
import type { View } from "../chain/rpc/view.ts";
import type {
  findCreated,
  findOldestCreation,
  findRequestedTokens,
  matchAddresses,
} from "../store/find-records.ts";
import type { Dialect, Tables } from "../store/tables.ts";
import type { Anchor, Payment } from "./payment.ts";

export type FollowEvent =
  | { kind: "detected"; address: Hex; blockNumber: number }
  | { kind: "reorg"; fromBlock: number }
  | { kind: "gap"; blockNumber: number; message: string };

export type FollowTuning = {
  /** The maximum number of blocks per query. */
  rangeBlocksMax: number;
  /** The maximum number of ranges per sweep. */
  rangesPerPass: number;
  /**
   * The number of blocks to read again below the newest anchor. An endpoint may have indexed their
   * logs late.
   */
  resweepBlocks: number;
  /**
   * The maximum number of recipients in a query. Nodes accept 1,000 topics. If this setting is 0,
   * no query filters by recipient.
   */
  recipientsMax: number;
};

/** The function `F` with its first arguments set. */
type Bound<F, First extends unknown[]> = F extends (
  ...all: [...First, ...infer Rest]
) => infer Result
  ? (...rest: Rest) => Result
  : never;

/**
 * Access to the database. A call fails if another process has the lease of the chain. A call can
 * commit several transactions, and the tables are consistent after each commit.
 */
type FollowStore = {
  matchAddresses: Bound<typeof matchAddresses, [db: Kysely<Tables>, dialect: Dialect]>;
  findCreated: Bound<typeof findCreated, [db: Kysely<Tables>]>;
  findRequestedTokens: Bound<
    typeof findRequestedTokens,
    [db: Kysely<Tables>, chainId: number, expiredSeconds: number]
  >;
  findOldestCreation: Bound<typeof findOldestCreation, [db: Kysely<Tables>]>;
  /** Returns the newest anchor, or the newest anchor below block `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Saves payments. Saves the anchor in the same transaction as the last payment.
   *
   * @param isGap true if too few endpoints returned the logs up to the anchor. Payments may then be
   *   missing, so the balances of all records must be read
   * @param agreed payments that a quorum has now returned, including payments that were saved
   *   earlier
   */
  save(
    anchor: Anchor | undefined,
    payments: readonly Payment[],
    isGap: boolean,
    agreed: readonly Payment[],
  ): Promise<void>;
  /**
   * Schedules balance reads of addresses that received a transfer. The payments are saved later.
   */
  wake(addresses: readonly Hex[]): Promise<void>;
  /** Removes all data that depends on blocks above `number`, including anchors. */
  undoAbove(number: number): Promise<void>;
};

/** The inputs of one sweep. A sweep reads the chain up to the newest block of `view`. */
export type SweepContext = {
  chain: {
    chainId: number;
    /** The listed tokens, in lowercase. */
    tokens: readonly Hex[];
    /**
     * For each look-alike (in lowercase), the minimum amount of a transfer in base units. Smaller
     * transfers of the look-alike are ignored.
     */
    lookalikes: ReadonlyMap<Hex, bigint>;
    /** The number of blocks that must follow the block of a payment before the payment counts. */
    paymentConfirmations: number;
  };
  view: View;
  store: FollowStore;
  tuning: FollowTuning;
  memory: FollowMemory;
  report(event: FollowEvent): void;
};

export type FollowMemory = {
  /** The number of the current sweep. */
  sweepNumber: number;
  /**
   * The hash of the newest block in the last sweep that read all unread blocks. The next sweep has
   * nothing to read if the newest block still has this hash.
   */
  readHead: Hex | undefined;
  /**
   * The newest block that `readTip` (sweep.ts) has read; -1 if none. `readTip` reads the newest
   * blocks before older ones.
   */
  tip: number;
  /**
   * The last block whose logs endpoints refused, and the number of sweeps in which this happened.
   * If the preceding block reached the maximum number of sweeps, `sweeps` starts at the maximum. So
   * the scan does not wait for this block's logs again.
   */
  refused: { number: number; sweeps: number } | undefined;
  /**
   * The newest block for which the usual log query (logs.ts) failed. Blocks up to this number are
   * not read again, except after a reorganization.
   */
  heavyBlock: number;
  /**
   * For each endpoint, by name: the last block up to which the endpoint has returned all logs since
   * the newest anchor.
   */
  shown: Map<string, Anchor>;
  /** The hashes of the newest blocks by block number. */
  links: Map<number, Hex>;
  /**
   * The logs of saved payments, by block hash. A block is read several times, but each payment is
   * saved only once.
   */
  savedLogs: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /**
   * Saved payments that a quorum has not returned yet, by block hash and log. `shownBy` contains
   * the names of the endpoints that returned the payment.
   */
  unagreed: Map<string, { payment: Payment; shownBy: Set<string> }>;
  /**
   * The addresses of the records up to `seq`. Addresses are added until the list is too long for
   * one query.
   */
  recipients: { seq: number; list: Hex[] };
  /**
   * The unlisted tokens in the intents of open records. `seq` is the number of the last record that
   * was read. The scan treats these tokens like listed tokens.
   */
  delisted: { seq: number; tokens: Hex[] };
  /** The estimated number of transfers of listed tokens and look-alikes per block. */
  logsPerBlock: number;
};

export const openFollowMemory = (): FollowMemory => ({
  sweepNumber: 0,
  readHead: undefined,
  tip: -1,
  refused: undefined,
  heavyBlock: -1,
  shown: new Map(),
  links: new Map(),
  savedLogs: new Map(),
  unagreed: new Map(),
  recipients: { seq: 0, list: [] },
  delisted: { seq: 0, tokens: [] },
  logsPerBlock: 0.25,
});
