// Decides at each poll whether a pass is needed, to save requests. A poll is skipped if there is no
// work and no new block is expected yet. A chain without open addresses "sleeps": polls are skipped
// until there is something to do.
//
// A sleeping chain is checked at long intervals (`sleepMs`), because closed addresses can receive
// late money. A check asks a quorum of endpoints for new transfers. A check also asks one endpoint
// whether the last block with known logs is unchanged. If the check finds a payment or fails, a
// pass follows, which reads the logs. After several checks (`checksMax`), a pass follows even if no
// check found a payment. A new address, a due job, or an event that waits for a block wakes the
// chain.

import type { BlockPace } from "../chain/rpc/heads.ts";
import type { View } from "../chain/rpc/view.ts";
import { newOpenSearch, type OpenSearch } from "../events/open-records.ts";
import { dayOf } from "../flow/days.ts";
import type { FollowMemory } from "../follow/context.ts";
import { noteRecipients, transfersSince } from "../follow/logs.ts";
import type { Parts } from "./pass.ts";
import type { ScanMemory } from "./payments/detect.ts";

/**
 * The time between two checks of a sleeping chain. This value leaves 15 s for a check and a pass,
 * so that late money is found within five minutes.
 */
const sleepMs = 285_000;
/** After this number of checks, a pass follows even if no check found a payment. */
const checksMax = 6;
/**
 * After the last address expires, the chain stays awake for this time. Meanwhile, the executor
 * reports the expiration and finds late payments.
 */
const closingSeconds = 900;
/** The minimum time between two searches for open addresses while the chain is awake. */
const searchEveryMs = 10_000;
/**
 * Before the chain sleeps, all addresses must be closed for at least this time. Otherwise, one
 * wrong block timestamp could put the chain to sleep.
 */
const closedMs = 60_000;
/** The chain stays awake for this time after late money arrives, so that the money is confirmed. */
const paidMs = 1_200_000;

/** Times are in milliseconds of a monotonic clock. */
type Sleep = {
  isAsleep: boolean;
  /** The search counts a record as open until `closingSeconds` after its expiration time. */
  openSearch: OpenSearch;
  /** When the search was last continued. */
  searchedMs: number;
  /** The time of the last check or the end of the last pass, whichever is later. */
  checkedMs: number;
  /** The number of checks since the last pass. */
  checks: number;
  awakeUntilMs: number;
};

/** The result of the last pass. */
type LastPass = {
  /** The newest view. The pass that uses this view may have failed. */
  view: View | undefined;
  /** Whether the executor has no work until the next block. */
  isQuiet: boolean;
  /** The part of the chain's budget for `day` that is spent or reserved, from 0 to 1. */
  budget: { day: number; share: number } | undefined;
};

export type PollMemory = { sleep: Sleep; last: LastPass };

export const openPollMemory = (nowMs: number): PollMemory => ({
  sleep: {
    isAsleep: false,
    openSearch: newOpenSearch,
    searchedMs: Number.NEGATIVE_INFINITY,
    checkedMs: 0,
    checks: 0,
    awakeUntilMs: nowMs + closedMs,
  },
  last: { view: undefined, isQuiet: false, budget: undefined },
});

/**
 * `pass` runs a pass. `peek` asks one endpoint for the newest block, and runs a pass if this block
 * is new. `skip` skips the poll.
 */
export type PollKind = "pass" | "peek" | "skip";

export async function decidePoll(
  parts: Parts,
  memory: PollMemory & ScanMemory & { pace: BlockPace; follow: FollowMemory },
  nowSeconds: number,
): Promise<PollKind> {
  const { ledger, chain, hasWebSocket, tuning } = parts;
  const { last, pace, sleep, scan } = memory;
  if (!last.isQuiet || (await ledger.findDueJobs(chain.chainId, nowSeconds, 1)).length > 0) {
    sleep.isAsleep = false;
    return "pass";
  }
  const nowMs = parts.clock();
  if (!hasWebSocket && nowMs < pace.expectedMs(tuning.pollMs)) return "skip";
  if (sleep.isAsleep || nowMs - sleep.searchedMs >= searchEveryMs) {
    sleep.searchedMs = nowMs;
    const isOpen = !(await isClosed(parts, sleep, nowSeconds));
    if (isOpen) sleep.awakeUntilMs = Math.max(sleep.awakeUntilMs, nowMs + closedMs);
    // If logs are missing, the chain stays awake until detect.ts has read all balances.
    sleep.isAsleep = nowMs >= sleep.awakeUntilMs && !scan.isOutdated;
  }
  if (!sleep.isAsleep) {
    const isRead = scan.again.size === 0 && (await ledger.findNewestSeq()) === scan.seq;
    return isRead ? "peek" : "pass";
  }
  if (nowMs - sleep.checkedMs < sleepMs) return "skip";
  const isPaid = await isPaidSince(parts, memory);
  return ++sleep.checks < checksMax && !isPaid ? "skip" : "pass";
}

/** Returns true if no address is open and no event waits for a block. */
async function isClosed({ ledger, chain }: Parts, sleep: Sleep, nowSeconds: number) {
  const { chainId } = chain;
  const expiredSeconds = nowSeconds - closingSeconds;
  sleep.openSearch = await ledger.searchOpenRecords(chainId, sleep.openSearch, expiredSeconds);
  return sleep.openSearch.areAllClosed && !(await ledger.isBlockAwaited(chainId));
}

/** Returns whether an address may have been paid since the last block with known logs. */
async function isPaidSince(
  parts: Parts,
  memory: PollMemory & { follow: FollowMemory },
): Promise<boolean> {
  const { ledger, chain, clock, tuning } = parts;
  const { sleep, follow } = memory;
  const { view } = memory.last;
  const anchor = await ledger.findAnchor(chain.chainId);
  if (!view || !anchor) return true;
  // A new record with an expired intent does not wake the chain, but its address can be paid.
  await noteRecipients({ store: ledger, memory: follow, tuning });
  const context = { view, chain, memory: follow, tuning };
  const transfers = await transfersSince(context, anchor, sleep.checks);
  sleep.checkedMs = clock();
  if (!transfers) return true;
  const paid = new Set(transfers.map(({ address }) => address));
  const isPaid = (await ledger.matchAddresses([...paid])).length > 0;
  if (isPaid) {
    sleep.isAsleep = false;
    sleep.awakeUntilMs = clock() + paidMs;
  }
  reportSkippedPoll(parts, memory);
  return isPaid;
}

/**
 * Records the end of a pass.
 *
 * @param isQuiet whether the executor has no work until the next block
 */
export function recordPass({ sleep, last }: PollMemory, nowMs: number, isQuiet: boolean): void {
  sleep.checkedMs = nowMs;
  sleep.checks = 0;
  last.isQuiet = isQuiet;
}

/**
 * Reports a poll without a pass as an event of the kind `pass`. Alerts need these events, which
 * show that the executor runs and how much of the budget is used.
 */
export function reportSkippedPoll({ report }: Parts, { last }: PollMemory): void {
  const { view } = last;
  const nothing = { blocksBehind: 0, secondsBehind: 0, due: 0, waitedSeconds: 0, inFlight: 0 };
  const budgetShare = readBudgetShare(last, view?.head.timestamp ?? 0);
  report({ kind: "pass", ...nothing, scores: view?.scores ?? [], budgetShare });
}

/** Returns the used share of the budget on the day that contains `seconds`; 0 if unknown. */
export const readBudgetShare = ({ budget }: LastPass, seconds: number): number =>
  budget?.day === dayOf(seconds) ? budget.share : 0;
