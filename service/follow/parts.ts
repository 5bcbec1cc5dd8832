// The types of the scan for payments: its access to the database, its settings, and its memory
// between iterations. The scan stays correct if the memory is lost. A turn is one iteration of the
// chain's loop.

import type { Hex } from "executable-address";
import type { View } from "../chain/rpc/view.ts";
import type { RequestedTokens } from "../store/find-records.ts";

/** A block by number and hash. */
export type Anchor = { number: number; hash: Hex };

/** Both ends are inclusive. `to` is infinite for a range up to the newest block. */
export type Range = { from: number; to: number };

/** A payment to `address`. */
export type Touched = { address: Hex; blockNumber: number };

/** A payment from a token's log. `amount` is decimal, in base units. All hex is lowercase. */
export type Payment = Touched & {
  blockHash: Hex;
  transactionHash: Hex;
  logIndex: number;
  payer: Hex;
  token: Hex;
  amount: string;
  /** Whether `token` is a look-alike of a listed token. */
  isLookalike: boolean;
};

export type FollowEvent =
  | { kind: "detected"; address: Hex; blockNumber: number }
  | { kind: "reorg"; fromBlock: number }
  | { kind: "gap"; blockNumber: number; message: string };

export type FollowTuning = {
  /** The maximum number of blocks per query. */
  rangeBlocksMax: number;
  /** The maximum number of ranges per iteration. */
  rangesPerPass: number;
  /**
   * The number of blocks below the newest anchor that are read again, because an endpoint may have
   * indexed their logs late.
   */
  resweepBlocks: number;
  /**
   * The maximum number of recipients in a query. Nodes accept 1,000 topics. With 0, there are no
   * queries with recipients.
   */
  recipientsMax: number;
};

/**
 * Access to the database. A call fails if another process has the lease of the chain. A call can
 * commit several transactions, and the tables are consistent after each commit.
 */
type FollowStore = {
  /** Returns which of `addresses` have a record. */
  matchAddresses(addresses: readonly Hex[]): Promise<Hex[]>;
  /** Returns up to `limit` records after `seq`. If `seq` is 0, starts with the first record. */
  findCreated(seq: number, limit: number): Promise<{ seq: number; address: Hex }[]>;
  /**
   * Reads the next records after `seq`. Returns the tokens that the chain's open records request,
   * in lowercase, and the `seq` of the last record that was read. `isEnd` is true if this is the
   * chain's newest record.
   */
  findRequestedTokens(seq: number): Promise<RequestedTokens>;
  /** Returns the time when the oldest record was created, in Unix seconds. */
  findOldestCreation(): Promise<number | undefined>;
  /** Returns the newest anchor, or the newest one below block `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Saves payments. Saves the anchor in the same transaction as the last payment.
   *
   * @param isGap whether too few endpoints returned the logs up to the anchor; payments may then be
   *   missing, so the balances of all records must be read
   * @param agreed payments that a quorum of endpoints has now returned, including payments that
   *   were saved earlier
   */
  save(
    anchor: Anchor | undefined,
    payments: readonly Payment[],
    isGap: boolean,
    agreed: readonly Payment[],
  ): Promise<void>;
  /** Schedules balance reads of addresses before their payments are saved. */
  wake(addresses: readonly Hex[]): Promise<void>;
  /** Removes all data that depends on blocks above `number`, including anchors. */
  undoAbove(number: number): Promise<void>;
};

/** One iteration of a chain's loop, which reads the chain up to the newest block of `view`. */
export type Turn = {
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
  /** The number of the current iteration. */
  turn: number;
  /** The hash of the newest block in the last iteration that read all unread blocks. */
  readHead: Hex | undefined;
  /** The newest block that `readTip` (sweep.ts) has read before older blocks; -1 if none. */
  tip: number;
  /**
   * The last block whose logs were refused, and the number of iterations in which they were
   * refused.
   */
  refused: { number: number; turns: number } | undefined;
  /**
   * The newest block for which the usual query failed. Blocks up to this number are not read again,
   * except after a reorganization.
   */
  heavyBlock: number;
  /**
   * For each endpoint (by name), the last block up to which the endpoint has returned all logs
   * since the newest anchor.
   */
  shown: Map<string, Anchor>;
  /** The hashes of the newest blocks by block number. */
  links: Map<number, Hex>;
  /**
   * For each block hash, the logs of the payments that were saved. A block is read several times,
   * but each payment is saved only once.
   */
  savedLogs: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /**
   * Saved payments that less than a quorum of endpoints has returned, by block hash and log.
   * `shownBy` contains the names of these endpoints.
   */
  unagreed: Map<string, { payment: Payment; shownBy: Set<string> }>;
  /**
   * The addresses of the records up to `seq`. Once there are too many addresses for a query, no
   * more addresses are added.
   */
  recipients: { seq: number; list: Hex[] };
  /**
   * Unlisted tokens that are requested by open records up to `seq`. The scan treats these tokens
   * like listed tokens.
   */
  delisted: { seq: number; tokens: Hex[] };
  /** The estimated number of transfers of listed tokens and look-alikes per block. */
  logsPerBlock: number;
};

export const openFollowMemory = (): FollowMemory => ({
  turn: 0,
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
