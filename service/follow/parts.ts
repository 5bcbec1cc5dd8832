// The types of a turn of a chain's loop: the store of payments and anchors, the settings, and the
// loop's memory between turns. The memory can be lost at any time.

import type { Hex } from "executable-address";
import type { View } from "../chain/rpc/view.ts";
import type { RequestedTokens } from "../store/find-records.ts";

/** A block by number and hash. */
export type Anchor = { number: number; hash: Hex };

/** A range of blocks, both ends inclusive. `to` is infinite for a range up to the newest block. */
export type Range = { from: number; to: number };

/** A payment to `address`. */
export type Touched = { address: Hex; blockNumber: number };

/** A payment that a token's log shows. `amount` is decimal, in base units. All hex is lowercase. */
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
  /** The maximum number of blocks per call. */
  rangeBlocksMax: number;
  /** The maximum number of calls for ranges per turn. */
  rangesPerPass: number;
  /**
   * The number of blocks below the cursor that each turn reads again, because an endpoint may have
   * indexed their logs late.
   */
  resweepBlocks: number;
  /**
   * The maximum number of addresses in a query for transfers to recipients. Nodes accept 1,000
   * topics. 0 disables such queries.
   */
  recipientsMax: number;
};

/**
 * The store of payments and anchors. A call fails if another process has the chain's lease. A call
 * can commit several times, and the tables are consistent after each commit.
 */
type FollowStore = {
  /** Returns which of `addresses` have a record. */
  matchAddresses(addresses: readonly Hex[]): Promise<Hex[]>;
  /** Returns up to `limit` records after `seq`. If `seq` is 0, starts with the first record. */
  findCreated(seq: number, limit: number): Promise<{ seq: number; address: Hex }[]>;
  /**
   * Reads records after `seq`. Returns the tokens that the open records of the chain request, in
   * lowercase, and the last `seq` that was read. `isEnd`: whether no record is left.
   */
  findRequestedTokens(seq: number): Promise<RequestedTokens>;
  /** Returns the time when the oldest record was created, in Unix seconds. */
  findOldestCreation(): Promise<number | undefined>;
  /** Returns the newest anchor, or the newest anchor below `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Saves payments, and the anchor in the same commit as the last payment.
   *
   * @param isGap whether too few endpoints show the logs up to the anchor, so that the balances of
   *   all records must be read
   * @param agreed payments, saved now or earlier, that a quorum of endpoints has shown by now
   */
  save(
    anchor: Anchor | undefined,
    payments: readonly Payment[],
    isGap: boolean,
    agreed: readonly Payment[],
  ): Promise<void>;
  /** Makes addresses due before their payments are saved. */
  wake(addresses: readonly Hex[]): Promise<void>;
  /**
   * Undoes everything that depends on blocks above `number`, and deletes the anchors of these
   * blocks.
   */
  undoAbove(number: number): Promise<void>;
};

/** One turn of a chain's loop, which reads the chain up to the head of `view`. */
export type Turn = {
  chain: {
    chainId: number;
    /** The listed tokens, in lowercase. */
    tokens: readonly Hex[];
    /**
     * The minimum amount of a transfer, in base units, by look-alike in lowercase. Smaller
     * transfers are ignored.
     */
    lookalikes: ReadonlyMap<Hex, bigint>;
    /** The number of blocks that must follow a payment before it counts. */
    paymentConfirmations: number;
  };
  view: View;
  store: FollowStore;
  tuning: FollowTuning;
  memory: FollowMemory;
  report(event: FollowEvent): void;
};

export type FollowMemory = {
  /** The number of the turn. */
  turn: number;
  /** The hash of the head up to which all blocks were read. */
  readHead: Hex | undefined;
  /** The newest block that was read ahead, before the history below it (sweep.ts). */
  tip: number;
  /** A block whose logs no endpoint returns, and the number of turns in which it was requested. */
  refused: { number: number; turns: number } | undefined;
  /**
   * The newest block whose logs the usual query did not return. Later turns do not read blocks up
   * to this block again.
   */
  heavyBlock: number;
  /**
   * The block up to which each endpoint has returned all logs since the cursor, by endpoint name.
   */
  shown: Map<string, Anchor>;
  /**
   * The hashes of the head and of blocks below it, by number. They were read from consecutive heads
   * and their parent hashes.
   */
  links: Map<number, Hex>;
  /**
   * The logs of saved payments, by block hash. Blocks are read several times, but each payment is
   * saved only once.
   */
  savedLogs: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /**
   * Saved payments that fewer than a quorum of endpoints have shown, by block hash and log, with
   * the names of these endpoints.
   */
  unagreed: Map<string, { payment: Payment; shownBy: Set<string> }>;
  /**
   * The addresses of the records up to `seq`, or only the first addresses if there are too many.
   */
  recipients: { seq: number; list: Hex[] };
  /**
   * Tokens that open records up to `seq` request, but that the operator does not list. Their
   * transfers are requested in the same way as transfers of listed tokens.
   */
  delisted: { seq: number; tokens: Hex[] };
  /** The estimated number of transfers of listed tokens and look-alikes in a block. */
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
