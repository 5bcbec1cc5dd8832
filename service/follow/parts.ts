// The types of a turn of a chain's loop: the store of payments and anchors, the settings, and what
// the loop remembers between turns. The memory can be lost at any moment.

import type { Hex } from "executable-address";
import type { View } from "../chain/rpc/view.ts";
import type { AskedTokens } from "../store/find-records.ts";

/** A block by number and hash. */
export type Anchor = { number: number; hash: Hex };

/** Blocks, both inclusive. `to` is infinite for a range up to the newest block. */
export type Range = { from: number; to: number };

/** A payment to `address`. */
export type Touched = { address: Hex; blockNumber: number };

/** The transfer in a token's log. `amount` is decimal, in base units. Hex is lowercase. */
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
  /** The number of blocks per call. */
  rangeBlocksMax: number;
  /** The maximum number of calls for ranges per turn. */
  rangesPerPass: number;
  /**
   * The number of blocks below the cursor that each turn reads again, because an endpoint's index
   * can lag.
   */
  resweepBlocks: number;
  /**
   * The maximum number of records for queries by recipients, because nodes accept 1,000 topics. 0
   * disables such queries.
   */
  recipientsMax: number;
};

/**
 * Where payments and anchors are saved. A call fails if another process has the lease of the chain.
 * The tables are complete after each commit of a call.
 */
type FollowStore = {
  /** Returns the addresses in `addresses` that have a record. */
  matchAddresses(addresses: readonly Hex[]): Promise<Hex[]>;
  /** Returns up to `limit` records after `seq`; 0 is before all. */
  findCreated(seq: number, limit: number): Promise<{ seq: number; address: Hex }[]>;
  /**
   * Returns the tokens, lowercase, that open records of the chain after `seq` ask for, and the last
   * `seq` that it read. `isEnd`: there are no others.
   */
  findAskedTokens(seq: number): Promise<AskedTokens>;
  /** Returns the time when the oldest record was created, in Unix seconds. */
  findOldestCreation(): Promise<number | undefined>;
  /** Returns the newest anchor, or the newest one below `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Saves payments, and the anchor in the same commit as the last payment.
   * @param isGap too few endpoints show the blocks up to the anchor, so all records are read
   */
  keep(anchor: Anchor | undefined, payments: readonly Payment[], isGap: boolean): Promise<void>;
  /** Makes addresses due whose payments are saved later. */
  wake(addresses: readonly Hex[]): Promise<void>;
  /** Takes back everything that is based on blocks above `number`, and deletes their anchors. */
  undoAbove(number: number): Promise<void>;
};

/** One turn of the loop: a chain at one head. */
export type Turn = {
  chain: {
    chainId: number;
    /** Lower case. */
    tokens: readonly Hex[];
    /** Look-alikes, lower case, with the base units below which a transfer is ignored. */
    lookalikes: ReadonlyMap<Hex, bigint>;
    /** Blocks on top of a payment before it counts. */
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
  /** The head up to which all blocks are read. */
  readHead: Hex | undefined;
  /** The newest block that was read before the history below it. */
  tip: number;
  /** The block that no endpoint shows, and the number of turns that requested it. */
  refused: { number: number; turns: number } | undefined;
  /** The newest block that needed a query of its own. It is not read again. */
  heavyBlock: number;
  /** By endpoint: the block up to which it has shown all logs since the cursor. */
  shown: Map<string, Anchor>;
  /** Hashes of the head and of blocks below it, from the parent hashes of consecutive heads. */
  links: Map<number, Hex>;
  /** By block hash: the logs of saved payments, because blocks are read again. */
  kept: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /** The addresses of the records up to `seq`, or only the first ones if there are too many. */
  recipients: { seq: number; list: Hex[] };
  /**
   * The tokens that open addresses among the records up to `seq` ask for and that the operator no
   * longer lists. Their transfers are requested like those of listed tokens.
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
  kept: new Map(),
  recipients: { seq: 0, list: [] },
  delisted: { seq: 0, tokens: [] },
  logsPerBlock: 0.25,
});
