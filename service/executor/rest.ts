// Decides whether a poll runs a pass. No pass runs if the chain is idle and its next block is not
// expected yet. A chain without open addresses sleeps, and no pass runs while it sleeps.
//
// A sleeping chain is checked every five minutes, because late money can reach closed addresses. A
// check asks a quorum of endpoints for the transfers since the cursor, and asks one endpoint
// whether the cursor's block is still in the chain. Every sixth check is a whole pass, which moves
// the cursor. A new address, a job that becomes due, or an event that waits for a block wakes the
// chain at the next poll.

import type { BlockPace } from "../chain/rpc/block-pace.ts";
import type { View } from "../chain/rpc/view.ts";
import { dayOf } from "../flow/days.ts";
import { noteRecipients, transfersSince } from "../follow/logs.ts";
import type { FollowMemory } from "../follow/parts.ts";
import type { Parts } from "./pass.ts";
import type { ScanMemory } from "./payments/find.ts";

/**
 * The time between two checks of a sleeping chain. If a check finds a transfer, a pass follows. The
 * interval is short enough that the check and the pass find late money within five minutes.
 */
const sleepMs = 285_000;
/** The number of checks after which a whole pass runs. */
const checksMax = 6;
/**
 * The time for which passes continue after the last expiration time, to report the expiration and
 * to find late payments.
 */
const closingSeconds = 900;
/** The interval at which the executor checks whether an awake chain still has open addresses. */
const closedEveryMs = 10_000;
/**
 * A chain sleeps only after all its addresses have been closed for this time, because a head's
 * timestamp can be wrong.
 */
const closedMs = 60_000;
/**
 * The time for which a chain stays awake after late money arrived. It stays awake long enough for
 * the payment's confirmations.
 */
const paidMs = 1_200_000;

/** Times are in milliseconds by the process's clock, unless a comment says otherwise. */
type Rest = {
  isAsleep: boolean;
  /**
   * At the time `closedSeconds` by the chain's clock, all addresses up to this record had been
   * closed for at least `closingSeconds`.
   */
  closedSeq: number;
  closedSeconds: number;
  /** The time at which the executor last checked whether all addresses are closed. */
  closedCheckedMs: number;
  /**
   * The time of the last check of the sleeping chain, and the number of checks since the last pass.
   */
  checkedMs: number;
  checks: number;
  awakeUntilMs: number;
};

/** The result of the last pass. */
type LastPass = {
  view: View | undefined;
  /** Whether nothing is left to do until the next block. */
  isQuiet: boolean;
  /**
   * `share` is the part of the chain's budget for `day` that was spent or reserved, from 0 to 1.
   */
  budget: { day: number; share: number } | undefined;
};

export type RestMemory = { rest: Rest; last: LastPass };

export const openRestMemory = (nowMs: number): RestMemory => ({
  rest: {
    isAsleep: false,
    closedSeq: 0,
    closedSeconds: 0,
    closedCheckedMs: Number.NEGATIVE_INFINITY,
    checkedMs: 0,
    checks: 0,
    awakeUntilMs: nowMs + closedMs,
  },
  last: { view: undefined, isQuiet: false, budget: undefined },
});

/** `peek`: run a pass only if there is a new block. `rest`: run no pass. */
export type PollKind = "pass" | "peek" | "rest";

export async function decidePoll(
  parts: Parts,
  memory: RestMemory & ScanMemory & { pace: BlockPace; follow: FollowMemory },
  nowSeconds: number,
): Promise<PollKind> {
  const { ledger, chain, isNotified } = parts;
  const { last, pace, rest, scan } = memory;
  if (!last.isQuiet || (await ledger.findDueJobs(chain.chainId, nowSeconds, 1)).length > 0) {
    rest.isAsleep = false;
    return "pass";
  }
  const nowMs = parts.clock();
  if (!isNotified && nowMs < pace.expectedMs()) return "rest";
  if (rest.isAsleep || nowMs - rest.closedCheckedMs >= closedEveryMs) {
    rest.closedCheckedMs = nowMs;
    const isOpen = !(await isClosed(parts, rest, nowSeconds));
    if (isOpen) rest.awakeUntilMs = Math.max(rest.awakeUntilMs, nowMs + closedMs);
    // After a gap in the logs, the chain stays awake until the balances of all records have been
    // read (payments/find.ts).
    rest.isAsleep = nowMs >= rest.awakeUntilMs && !scan.isOutdated;
  }
  if (!rest.isAsleep) {
    const isRead = scan.again.size === 0 && (await ledger.findNewestSeq()) === scan.seq;
    return isRead ? "peek" : "pass";
  }
  if (nowMs - rest.checkedMs < sleepMs) return "rest";
  const isPaid = await isPaidSince(parts, memory);
  return ++rest.checks < checksMax && !isPaid ? "rest" : "pass";
}

/** Returns whether the chain has no open addresses and no events that wait for a block. */
async function isClosed({ ledger, chain }: Parts, rest: Rest, nowSeconds: number) {
  const { chainId } = chain;
  // If the chain's clock went back, it was wrong before, so some addresses that seemed closed may
  // be open.
  const seq = nowSeconds < rest.closedSeconds ? 0 : rest.closedSeq;
  const closed = await ledger.passClosed(chainId, seq, nowSeconds - closingSeconds);
  rest.closedSeq = closed.seq;
  rest.closedSeconds = nowSeconds;
  return closed.isEnd && !(await ledger.isBlockAwaited(chainId));
}

/**
 * Returns true if an address was paid since the cursor, or if a single check cannot determine this.
 */
async function isPaidSince(
  parts: Parts,
  memory: RestMemory & { follow: FollowMemory },
): Promise<boolean> {
  const { ledger, chain, clock, tuning } = parts;
  const { rest, follow } = memory;
  const { view } = memory.last;
  const anchor = await ledger.findAnchor(chain.chainId);
  if (!view || !anchor) return true;
  // A record does not wake the chain if its intent was already expired when the record was created,
  // but its address can be paid.
  await noteRecipients({ store: ledger, memory: follow, tuning });
  const turn = { view, chain, memory: follow, tuning };
  const transfers = await transfersSince(turn, anchor, rest.checks);
  rest.checkedMs = clock();
  if (!transfers) return true;
  const paid = new Set(transfers.map(({ address }) => address));
  const isPaid = (await ledger.matchAddresses([...paid])).length > 0;
  if (isPaid) {
    rest.isAsleep = false;
    rest.awakeUntilMs = clock() + paidMs;
  }
  reportRest(parts, memory);
  return isPaid;
}

/**
 * Records that a pass has ended.
 *
 * @param isQuiet whether nothing is left to do until the next block
 */
export function recordPass({ rest, last }: RestMemory, nowMs: number, isQuiet: boolean): void {
  rest.checkedMs = nowMs;
  rest.checks = 0;
  last.isQuiet = isQuiet;
}

/**
 * Reports a pass that had nothing to do, because alerts depend on the time of the last pass and on
 * the used share of the budget.
 */
export function reportRest({ report }: Parts, { last }: RestMemory): void {
  const { view } = last;
  const nothing = { blocksBehind: 0, secondsBehind: 0, due: 0, waitedSeconds: 0, inFlight: 0 };
  const budgetShare = readBudgetShare(last, view?.head.timestamp ?? 0);
  report({ kind: "pass", ...nothing, scores: view?.scores ?? [], budgetShare });
}

/** Returns the used share of the budget on the day of `seconds`; 0 if it is not known. */
export const readBudgetShare = ({ budget }: LastPass, seconds: number): number =>
  budget?.day === dayOf(seconds) ? budget.share : 0;
