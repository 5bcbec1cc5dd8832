// One pass over one chain, in order: hold the lease, open a view of the chain, find payments,
// settle what is final, resend or replace what is not mined, work on due jobs, then look at new
// records. After each step the ledger is complete, so that a process killed there loses nothing.

import { openBlockPace } from "../chain/rpc/heads.ts";
import { openNetwork, openRelays } from "../chain/rpc/network.ts";
import type { View } from "../chain/rpc/view.ts";
import { dayOf } from "../flow/days.ts";
import { freshFollowMemory } from "../follow/parts.ts";
import { sweep } from "../follow/sweep.ts";
import { holdLease } from "./hold-lease.ts";
import { pullLateJobs, waitedSeconds } from "./jobs/late.ts";
import { freshJobs, work } from "./jobs/work.ts";
import type { Purpose } from "./ledger/purposes.ts";
import { type Budgets, openBudgets, reserveFor } from "./money/budgets.ts";
import type { Memory, Parts, Pass } from "./parts.ts";
import { freshHoldings } from "./payments/holdings.ts";
import { freshLooks, lookAtNew } from "./payments/look.ts";
import { turnOf } from "./payments/turn.ts";
import { budgetShareAt, freshRest, reportRest, turnFor } from "./rest.ts";
import { nonceCostMax } from "./transactions/foreign.ts";
import { freshTransactions, type Hand, keepUp, openHand } from "./transactions/hand.ts";
import { costMax, type Purse } from "./transactions/send.ts";

export function freshMemory(parts: Parts): Memory {
  const { chain, endpoints, relays, report, clock } = parts;
  return {
    network: openNetwork(chain.chainId, endpoints, report, clock),
    relays: openRelays(chain.chainId, relays, report, clock),
    fence: undefined,
    watched: undefined,
    head: undefined,
    pace: openBlockPace(parts.tuning.pollMs),
    rest: freshRest(parts.clock()),
    view: undefined,
    isQuiet: false,
    budget: undefined,
    follow: freshFollowMemory(),
    looks: freshLooks(),
    holdings: freshHoldings(),
    jobs: freshJobs(),
    transactions: freshTransactions(),
  };
}

/**
 * With an unchanged head it reads that head alone, unless a job is due by the clock.
 * @throws what stopped it: the next pass begins anew from the ledger
 */
export async function runPass(parts: Parts, memory: Memory): Promise<void> {
  const fence = await holdLease(parts, memory);
  const view = fence && (await openView(parts, memory));
  if (!fence || !view) return;
  memory.pace.note(view.head, parts.clock());
  const nowSeconds = chainNow(memory, view.head, parts.clock());
  const pass: Pass = { parts, memory, fence, view, nowSeconds, signer: parts.signers[0] };

  const { upTo, isOld } = await sweep(turnOf(pass));
  parts.onSwept?.();
  const hands: Hand[] = [];
  for (const each of parts.signers) hands.push(await openHand({ ...pass, signer: each }));
  const pending = hands.flatMap((hand) => hand.pending);
  const budgets = budgetsOf(pass, pending, hands[0]!.purse);
  const isPaused = await parts.ledger.isPaused(parts.chain.chainId);
  for (const hand of hands) {
    if (!isPaused) await keepUp(hand, budgets);
    if (hand.isFresh && hand.pending.length === 0) await hand.purse();
  }
  await pullLateJobs(pass);
  // A head below the cursor shows balances of the past: nothing is decided by them.
  const due = isOld || isPaused ? 0 : await work(hands, budgets);

  const blocksBehind = Math.max(0, view.head.number - parts.chain.paymentConfirmations - upTo);
  const secondsBehind = blocksBehind === 0 ? 0 : nowSeconds - view.head.timestamp;
  const { scores } = view;
  parts.report({
    kind: "pass",
    blocksBehind,
    secondsBehind,
    due,
    waitedSeconds: isPaused ? 0 : await waitedSeconds(pass),
    inFlight: hands.reduce((sum, hand) => sum + hand.unmined.length, 0),
    scores,
    budgetShare: budgetShareAt(memory, view.head.timestamp),
  });
  // Last, so that a failure here holds up no payment that is known.
  const isLooked = await lookAtNew(pass);
  memory.rest.lookedMs = parts.clock();
  memory.rest.looks = 0;
  memory.isQuiet = !isOld && blocksBehind === 0 && isLooked && pending.length === 0 && due === 0;
}

/** @returns undefined where a pass would find nothing */
async function openView(parts: Parts, memory: Memory): Promise<View | undefined> {
  const { head, network } = memory;
  // Without a head there is no clock of the chain to rest by.
  const turn = head ? await turnFor(parts, memory, chainNow(memory, head, parts.clock())) : "pass";
  if (turn === "rest") return undefined;
  // Where it throws, the next poll is for a whole pass.
  memory.isQuiet = false;
  const view = await (turn === "peek" ? network.openNewView(head!.hash) : network.openView());
  if (view) memory.view = view;
  if (memory.view) parts.onHead?.(memory.view.head);
  if (!view) {
    memory.isQuiet = true;
    reportRest(parts, memory);
  }
  return view;
}

/** The budgets of the chain's day, read when first asked for: settled, and in flight at its cap. */
export function budgetsOf(
  pass: Pass,
  pending: readonly Purpose[],
  openPurse: () => Promise<Purse>,
): () => Promise<Budgets> {
  let opened: Promise<Budgets> | undefined;
  const open = async () => {
    const { parts, memory, view } = pass;
    const { ledger, chain } = parts;
    const day = dayOf(view.head.timestamp);
    const total = await ledger.readSpending(chain.chainId, day);
    const accounts = await ledger.readAccountSpending(chain.chainId, day);
    const budgets = openBudgets(chain.budgets, { total, accounts });
    const { perByte } = await openPurse();
    for (const purpose of pending) reserveFor(budgets, purpose.shares, costMax(purpose, perByte));
    for (const { count } of memory.transactions.unknown.values()) {
      const cap = BigInt(count) * nonceCostMax(pass);
      budgets.reserveForChain(cap < budgets.left() ? cap : budgets.left());
    }
    const { perDayMax } = chain.budgets;
    memory.budget = { day, share: 1 - Number(budgets.left()) / Number(perDayMax) };
    return budgets;
  };
  return () => {
    opened ??= open();
    return opened;
  };
}

/**
 * The chain's clock, in seconds: the head's timestamp, and the time since that head was first seen
 * by a monotonic clock of this host. The host's wall clock is never used.
 */
function chainNow(memory: Memory, head: { hash: `0x${string}`; timestamp: number }, ms: number) {
  if (memory.head?.hash !== head.hash) {
    memory.head = { hash: head.hash, timestamp: head.timestamp, sinceMs: ms };
  }
  return head.timestamp + Math.floor((ms - memory.head.sinceMs) / 1000);
}
