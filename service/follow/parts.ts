// The parts that the loop of a chain works with: where marks and anchors are kept, and what it
// remembers from one turn to the next. All of the memory may be lost at any moment.

import type { Hex } from "executable-address";
import type { View } from "../chain/rpc/view.ts";

/** A block by number and hash. */
export type Anchor = { number: number; hash: Hex };

/** Blocks, both inclusive; up to infinity means up to the newest. */
export type Range = { from: number; to: number };

/** Money was seen to come to `address`. */
export type Touched = { address: Hex; blockNumber: number };

/** A token's log says it: `payer` sent `amount` base units, decimal. Hex in lower case. */
export type Payment = Touched & {
  blockHash: Hex;
  transactionHash: Hex;
  logIndex: number;
  payer: Hex;
  token: Hex;
  amount: string;
};

export type FollowEvent =
  | { kind: "detected"; address: Hex; blockNumber: number }
  | { kind: "reorg"; fromBlock: number }
  | { kind: "gap"; blockNumber: number; message: string };

export type FollowTuning = {
  /** Blocks asked for in one call. */
  rangeBlocksMax: number;
  /** Calls of that kind in one turn. */
  rangesPerPass: number;
  /** Blocks below the cursor that each turn reads again, since an endpoint's index may lag. */
  resweepBlocks: number;
  /** Records up to which logs may be asked for by recipients: nodes take 1,000 topics; 0: never. */
  recipientsMax: number;
};

/**
 * Each call fails where another process leads the chain. One of several commits leaves the tables
 * complete after each.
 */
type FollowStore = {
  /** Finds those of `addresses` that have a record. */
  matchAddresses(addresses: readonly Hex[]): Promise<Hex[]>;
  /** Up to `limit` records that follow `seq`; 0 is before all. */
  findCreated(seq: number, limit: number): Promise<{ seq: number; address: Hex }[]>;
  /** When the oldest record was created, in Unix seconds. */
  findOldestCreation(): Promise<number | undefined>;
  /** The newest anchor, or the newest below `before`. */
  findAnchor(before?: number): Promise<Anchor | undefined>;
  /**
   * Keeps payments, and then the anchor, in the same commit as the last of them.
   * @param isGap too few show the blocks up to the anchor: all records are to be looked at again
   */
  keep(anchor: Anchor | undefined, payments: readonly Payment[], isGap: boolean): Promise<void>;
  /** Makes addresses due whose payments are kept later. */
  wake(addresses: readonly Hex[]): Promise<void>;
  /** Takes back what rests on blocks above `number`, and forgets their anchors. */
  undoAbove(number: number): Promise<void>;
};

/** One turn of the loop: a chain at one head. */
export type Turn = {
  chain: {
    chainId: number;
    /** Lower case. */
    tokens: readonly Hex[];
    /** Blocks on top of a payment before it counts as seen. */
    paymentConfirmations: number;
  };
  view: View;
  store: FollowStore;
  tuning: FollowTuning;
  memory: FollowMemory;
  report(event: FollowEvent): void;
};

export type FollowMemory = {
  /** Counted up. */
  turn: number;
  /** The head up to which all is read. */
  readHead: Hex | undefined;
  /** The newest block that was read before the history below it. */
  tip: number;
  /** The block that nobody shows, and in how many turns it was asked for. */
  refused: { number: number; turns: number } | undefined;
  /** The newest block that had to be asked for by itself: it is not read again. */
  heavyBlock: number;
  /** By endpoint: the block up to which it has shown all logs since the cursor. */
  shown: Map<string, Anchor>;
  /** Hashes of the head and of blocks below it, as heads that follow each other name them. */
  links: Map<number, Hex>;
  /** By block hash, the logs of payments kept already: blocks are read again. */
  kept: Map<Hex, { blockNumber: number; logs: Set<string> }>;
  /** The addresses of the store up to a record, or the first of them where they are too many. */
  recipients: { seq: number; list: Hex[] };
  /** Transfers of listed tokens in a block, as far as is known. */
  logsPerBlock: number;
};

export const freshFollowMemory = (): FollowMemory => ({
  turn: 0,
  readHead: undefined,
  tip: -1,
  refused: undefined,
  heavyBlock: -1,
  shown: new Map(),
  links: new Map(),
  kept: new Map(),
  recipients: { seq: 0, list: [] },
  logsPerBlock: 0.25,
});
