// Types for the payments that a sweep finds, and for blocks and ranges of blocks.

import type { Hex } from "executable-address";

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
