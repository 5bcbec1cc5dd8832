// The data that the sweeps of a chain share in memory. Sweeps are correct without this data, so it
// can be lost in a restart.

import type { Hex } from "executable-address";
import type { Anchor, Payment } from "./payment.ts";

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
   * The newest block for which the usual query failed. Blocks up to this number are not read again,
   * except after a reorganization.
   */
  heavyBlock: number;
  /**
   * The progress of each endpoint, by name. The endpoint has returned all logs from the newest
   * anchor up to this block.
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
