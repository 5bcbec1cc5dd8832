// Decides whether a poll does the executor's work or skips it to save requests. A poll is skipped
// if there is nothing to do and the next block is not expected yet. A chain without open addresses
// "sleeps": polls are skipped until there is something to do.
//
// A sleeping chain is checked about every five minutes, because closed addresses can receive late
// money. A check asks a quorum of endpoints for new transfers. It also asks one endpoint whether
// the last block with known logs is still in the chain. A normal poll, which reads the logs,
// follows if the check finds a payment or fails, and after every sixth check. A new address, a due
// job, or an event that waits for a block wakes the chain at the next poll.

import type { BlockPace } from "../chain/rpc/heads.ts";
import type { View } from "../chain/rpc/view.ts";
import { type Closed, noneClosed } from "../events/watches.ts";
import { dayOf } from "../flow/days.ts";
import { noteRecipients, transfersSince } from "../follow/logs.ts";
import type { FollowMemory } from "../follow/memory.ts";
import type { Parts } from "./pass.ts";
import type { ScanMemory } from "./payments/scan.ts";

/**
 * The time between two checks of a sleeping chain. The time is short enough that a check and the
 * poll after it find late money within five minutes.
 */
const sleepMs = 285_000;
/** A normal poll follows after this number of checks, even if the checks find no payment. */
const checksMax = 6;
/**
 * The time for which the chain stays awake after the last address has expired, to report the
 * expiration and to find late payments.
 */
const closingSeconds = 900;
/** The interval at which an awake chain is checked for open addresses. */
const closedEveryMs = 10_000;
/**
 * All addresses must have been closed for this time before the chain sleeps, because a block's
 * timestamp can be wrong.
 */
const closedMs = 60_000;
/**
 * The time for which a chain stays awake after late money arrived, until the payment has enough
 * confirmations.
 */
const paidMs = 1_200_000;

/** Times are in milliseconds of a monotonic clock. */
type Rest = {
  isAsleep: boolean;
  /** The records whose addresses were closed, and had expired at least `closingSeconds` before. */
  closed: Closed;
  /** When the addresses were last checked. */
  closedCheckedMs: number;
  /**
   * When the sleeping chain was last checked, and the number of checks since the last normal poll.
   */
  checkedMs: number;
  checks: number;
  awakeUntilMs: number;
};

/** The result of the last normal poll. */
type LastPass = {
  view: View | undefined;
  /** Whether the executor has no work until the next block. */
  isQuiet: boolean;
  /** The part of the chain's budget for `day` that is spent or reserved, from 0 to 1. */
  budget: { day: number; share: number } | undefined;
};

export type RestMemory = { rest: Rest; last: LastPass };

export const openRestMemory = (nowMs: number): RestMemory => ({
  rest: {
    isAsleep: false,
    closed: noneClosed,
    closedCheckedMs: Number.NEGATIVE_INFINITY,
    checkedMs: 0,
    checks: 0,
    awakeUntilMs: nowMs + closedMs,
  },
  last: { view: undefined, isQuiet: false, budget: undefined },
});

/**
 * `pass`: a normal poll. `peek`: a normal poll only if there is a new block. `rest`: skip this
 * poll.
 */
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
    // If logs were missing, the chain stays awake until the balances of all records were read
    // (payments/scan.ts).
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

/** Returns whether there are neither open addresses nor events that wait for a block. */
async function isClosed({ ledger, chain }: Parts, rest: Rest, nowSeconds: number) {
  const { chainId } = chain;
  rest.closed = await ledger.passClosed(chainId, rest.closed, nowSeconds - closingSeconds);
  return rest.closed.isEnd && !(await ledger.isBlockAwaited(chainId));
}

/** Returns whether an address may have been paid since the last block with known logs. */
async function isPaidSince(
  parts: Parts,
  memory: RestMemory & { follow: FollowMemory },
): Promise<boolean> {
  const { ledger, chain, clock, tuning } = parts;
  const { rest, follow } = memory;
  const { view } = memory.last;
  const anchor = await ledger.findAnchor(chain.chainId);
  if (!view || !anchor) return true;
  // A record that was already expired when it was created does not wake the chain, but its address
  // can receive money.
  await noteRecipients({ store: ledger, memory: follow, tuning });
  const context = { view, chain, memory: follow, tuning };
  const transfers = await transfersSince(context, anchor, rest.checks);
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
 * Records the end of a normal poll.
 *
 * @param isQuiet whether the executor has no work until the next block
 */
export function recordPass({ rest, last }: RestMemory, nowMs: number, isQuiet: boolean): void {
  rest.checkedMs = nowMs;
  rest.checks = 0;
  last.isQuiet = isQuiet;
}

/**
 * Reports a skipped poll, because alerts depend on the time of the last report and on the used part
 * of the budget.
 */
export function reportRest({ report }: Parts, { last }: RestMemory): void {
  const { view } = last;
  const nothing = { blocksBehind: 0, secondsBehind: 0, due: 0, waitedSeconds: 0, inFlight: 0 };
  const budgetShare = readBudgetShare(last, view?.head.timestamp ?? 0);
  report({ kind: "pass", ...nothing, scores: view?.scores ?? [], budgetShare });
}

/** Returns the used part of the budget on the day of `seconds`; 0 if it is not known. */
export const readBudgetShare = ({ budget }: LastPass, seconds: number): number =>
  budget?.day === dayOf(seconds) ? budget.share : 0;
