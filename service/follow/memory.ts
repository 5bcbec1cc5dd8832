// The memory that a chain's sweeps share. The sweeps stay correct if the memory is lost.

import type { Hex } from "executable-address";
import type { Anchor, Payment } from "./payment.ts";

export type FollowMemory = {
  /** The number of the current sweep. */
  sweepNumber: number;
  /** The hash of the newest block in the last sweep that read all unread blocks. */
  readHead: Hex | undefined;
  /** The newest block that `readTip` (sweep.ts) has read before older blocks; -1 if none. */
  tip: number;
  /**
   * The last block whose logs were refused, and the number of sweeps in which they were refused.
   */
  refused: { number: number; sweeps: number } | undefined;
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
