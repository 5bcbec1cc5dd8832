// The types of the chain's loop: its database access, its settings, and its memory between
// iterations. The memory can be lost at any time. A turn is one iteration of the loop.

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
 * Access to the database. A call fails if another process has the chain's lease. A call can commit
 * several times, and the tables are consistent after each commit.
 */
type FollowStore = {
  /** Returns which of `addresses` have a record. */
  matchAddresses(addresses: readonly Hex[]): Promise<Hex[]>;
  /** Returns up to `limit` records after `seq`. If `seq` is 0, starts with the first record. */
  findCreated(seq: number, limit: number): Promise<{ seq: number; address: Hex }[]>;
  /**
   * Reads the next records after `seq`. Returns the tokens that the chain's open records request,
   * in lowercase, and the last `seq` that was read. `isEnd`: whether no record is left.
   */
  findRequestedTokens(seq: number): Promise<RequestedTokens>;
  /** Returns the time when the oldest record was created, in Unix seconds. */
  findOldestCreation(): Promise<number | undefined>;
  /** Returns the newest anchor, or the newest one below block `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Saves payments. The anchor is saved in the same transaction as the last payment.
   *
   * @param isGap whether logs up to the anchor may be missing, because too few endpoints returned
   *   them; the balances of all records must then be read
   * @param agreed payments, saved now or earlier, that a quorum of endpoints has now returned
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

/** One iteration of a chain's loop. It reads the chain up to the newest block of `view`. */
export type Turn = {
  chain: {
    chainId: number;
    /** The listed tokens, in lowercase. */
    tokens: readonly Hex[];
    /**
     * By look-alike in lowercase, the minimum amount of a transfer, in base units. Smaller
     * transfers are ignored.
     */
    lookalikes: ReadonlyMap<Hex, bigint>;
    /** The number of later blocks after which a payment counts. */
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
  /** The hash of the head up to which all blocks were read. */
  readHead: Hex | undefined;
  /** The newest block that was read although older blocks are unread (sweep.ts). */
  tip: number;
  /**
   * A block whose logs no endpoint returns, and the number of iterations in which it was requested.
   */
  refused: { number: number; turns: number } | undefined;
  /**
   * The newest block for which the usual query failed. Blocks up to this one are not read again.
   */
  heavyBlock: number;
  /**
   * The last block up to which an endpoint has returned all logs since the newest anchor, by
   * endpoint name.
   */
  shown: Map<string, Anchor>;
  /**
   * The hashes of the newest blocks by number, from the heads that were read and their parent
   * hashes.
   */
  links: Map<number, Hex>;
  /**
   * By block hash, the logs of payments that were saved. Blocks are read several times, but a
   * payment is saved only once.
   */
  savedLogs: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /**
   * Saved payments that less than a quorum of endpoints has returned, by block hash and log.
   * `shownBy` contains the names of these endpoints.
   */
  unagreed: Map<string, { payment: Payment; shownBy: Set<string> }>;
  /** The addresses of the records up to `seq`. If there are too many, only the first ones. */
  recipients: { seq: number; list: Hex[] };
  /**
   * Tokens that open records up to `seq` request, but that the operator does not list. Their
   * transfers are requested like transfers of listed tokens.
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
