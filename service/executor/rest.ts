// When a pass would find nothing, so that no pass is made: until the next block of an idle chain is
// expected, and while a chain without open addresses sleeps.
//
// A sleeping chain is looked at every five minutes, since late money comes to closed addresses too:
// each endpoint is asked for the transfers since the cursor, and one whether the cursor's block
// still stands. Now and then a whole pass moves the cursor. What the service itself learns wakes it
// at the next poll: a create, a job that a status made due, an event that waits for a block.

import type { BlockPace } from "../chain/rpc/heads.ts";
import type { View } from "../chain/rpc/view.ts";
import { dayOf } from "../flow/days.ts";
import { transfersSince } from "../follow/logs.ts";
import type { FollowMemory } from "../follow/parts.ts";
import { noteRecipients } from "../follow/recipients.ts";
import type { Parts } from "./pass.ts";
import type { LooksMemory } from "./payments/find.ts";

/** With the pass that follows, late money is found within five minutes. */
const sleepMs = 285_000;
/** Looks after which a whole pass is made. */
const looksMax = 6;
/** Expired addresses are told of, and money of the last moment is found, by passes as before. */
const closingSeconds = 900;
/** An open chain is asked this seldom whether all of its addresses are closed. */
const closedEveryMs = 10_000;
/** A chain is closed for so long before it sleeps: a head's clock may be wrong for a while. */
const closedMs = 60_000;
/** After late money was seen a chain stays awake: payments count once they are deep enough. */
const paidMs = 1_200_000;

/** Times are of the process's clock. */
export type Rest = {
  isAsleep: boolean;
  /** All records up to this one were closed when the chain's clock was at `closedSeconds`. */
  closedSeq: number;
  closedSeconds: number;
  /** When it was last checked whether all addresses are closed. */
  checkedMs: number;
  /** When the chain was last looked at, and how often since the last pass. */
  lookedMs: number;
  looks: number;
  awakeUntilMs: number;
};

/** What the last pass found. */
type LastPass = {
  view: View | undefined;
  /** Nothing is left to do until the next block. */
  isQuiet: boolean;
  /** The share of the chain's budget of `day` that was spent or reserved, 0 to 1. */
  budget: { day: number; share: number } | undefined;
};

export type RestMemory = { rest: Rest; last: LastPass };

export const openRestMemory = (nowMs: number): RestMemory => ({
  rest: {
    isAsleep: false,
    closedSeq: 0,
    closedSeconds: 0,
    checkedMs: Number.NEGATIVE_INFINITY,
    lookedMs: 0,
    looks: 0,
    awakeUntilMs: nowMs + closedMs,
  },
  last: { view: undefined, isQuiet: false, budget: undefined },
});

/** A poll is for a whole pass, for a pass if there is a new block, or for nothing. */
export type PollKind = "pass" | "peek" | "rest";

export async function decidePoll(
  parts: Parts,
  memory: RestMemory & LooksMemory & { pace: BlockPace; follow: FollowMemory },
  nowSeconds: number,
): Promise<PollKind> {
  const { ledger, chain, isNotified } = parts;
  const { last, pace, rest, looks } = memory;
  if (!last.isQuiet || (await ledger.findDueJobs(chain.chainId, nowSeconds, 1)).length > 0) {
    rest.isAsleep = false;
    return "pass";
  }
  const nowMs = parts.clock();
  if (!isNotified && nowMs < pace.expectedMs()) return "rest";
  if (rest.isAsleep || nowMs - rest.checkedMs >= closedEveryMs) {
    rest.checkedMs = nowMs;
    const isOpen = !(await isClosed(parts, rest, nowSeconds));
    if (isOpen) rest.awakeUntilMs = Math.max(rest.awakeUntilMs, nowMs + closedMs);
    // Records that a gap hid are looked at first, within a minute (payments/look.ts).
    rest.isAsleep = nowMs >= rest.awakeUntilMs && !looks.isOutdated;
  }
  if (!rest.isAsleep) {
    const isLooked = looks.again.size === 0 && (await ledger.findNewestSeq()) === looks.seq;
    return isLooked ? "peek" : "pass";
  }
  if (nowMs - rest.lookedMs < sleepMs) return "rest";
  const isPaid = await isPaidSince(parts, memory);
  return ++rest.looks < looksMax && !isPaid ? "rest" : "pass";
}

/** Whether the chain has no open address, and no event waits for one of its blocks. */
async function isClosed({ ledger, chain }: Parts, rest: Rest, nowSeconds: number) {
  const { chainId } = chain;
  // A clock that goes back was wrong, and so was what had expired by it.
  const seq = nowSeconds < rest.closedSeconds ? 0 : rest.closedSeq;
  const closed = await ledger.passClosed(chainId, seq, nowSeconds - closingSeconds);
  rest.closedSeq = closed.seq;
  rest.closedSeconds = nowSeconds;
  return closed.isEnd && !(await ledger.isBlockAwaited(chainId));
}

/** Whether a record's address was paid since the cursor, or that cannot be told in one call. */
async function isPaidSince(
  parts: Parts,
  memory: RestMemory & { follow: FollowMemory },
): Promise<boolean> {
  const { ledger, chain, clock, tuning } = parts;
  const { rest, follow } = memory;
  const { view } = memory.last;
  const anchor = await ledger.findAnchor(chain.chainId);
  if (!view || !anchor) return true;
  // A record that was over when it was made does not wake the chain, and is paid all the same.
  await noteRecipients({ store: ledger, memory: follow, tuning });
  const asked = { view, chain, memory: follow, tuning };
  const transfers = await transfersSince(asked, anchor, rest.looks);
  rest.lookedMs = clock();
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

/** Alerts ask when the chain was last read, and how much of the day's budget is taken. */
export function reportRest({ report }: Parts, { last }: RestMemory): void {
  const { view } = last;
  const nothing = { blocksBehind: 0, secondsBehind: 0, due: 0, waitedSeconds: 0, inFlight: 0 };
  const budgetShare = readBudgetShare(last, view?.head.timestamp ?? 0);
  report({ kind: "pass", ...nothing, scores: view?.scores ?? [], budgetShare });
}

/**
 * Returns the share of the budget that was taken on the day of `seconds`, as far as it is known.
 */
export const readBudgetShare = ({ budget }: LastPass, seconds: number): number =>
  budget?.day === dayOf(seconds) ? budget.share : 0;
