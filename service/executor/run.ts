// The loop of one chain: it takes the lease, rests while there is nothing to do, and otherwise runs
// a pass. A pass opens a view of the chain, finds payments, settles what is final, resends or
// replaces what is not mined, works on due jobs, and then looks at new records, in this order. The
// ledger is complete after each step, so a process that is killed there loses nothing. A pass that
// fails does not end the loop.

import { openBlockPace } from "../chain/rpc/heads.ts";
import { openNetwork, openRelays } from "../chain/rpc/network.ts";
import type { View } from "../chain/rpc/view.ts";
import { dayOf } from "../flow/days.ts";
import { freshFollowMemory } from "../follow/parts.ts";
import { sweep } from "../follow/sweep.ts";
import { freshJobs, pullLateJobs, waitedSeconds, work } from "./jobs/work.ts";
import { type Fence, LeaseLost } from "./ledger/lease.ts";
import type { Purpose } from "./ledger/purposes.ts";
import { type Budgets, openBudgets, reserveFor } from "./money/budgets.ts";
import type { Memory, Parts, Pass } from "./parts.ts";
import { followTurn, freshLooks, lookAtNew } from "./payments/find.ts";
import { freshHoldings } from "./payments/vaults.ts";
import { budgetShareAt, freshRest, reportRest, turnFor } from "./rest.ts";
import { nonceCostMax } from "./transactions/foreign.ts";
import { costMax, type Purse } from "./transactions/send.ts";
import { freshTransactions, type Hand, keepUp, openHand } from "./transactions/sender.ts";

/** Resolves once the pass under way has ended and the lease is let go. Never rejects. */
export async function run(parts: Parts, isStopped: () => boolean): Promise<void> {
  const memory = freshMemory(parts);
  while (!isStopped()) {
    try {
      await runPass(parts, memory);
    } catch (error) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      parts.report({ kind: "pass_failed", message });
    }
    if (!isStopped()) await parts.sleep(parts.tuning.pollMs * (0.9 + parts.random() / 5));
  }
  if (memory.fence) await parts.ledger.releaseLease(memory.fence).catch(() => {});
}

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
async function runPass(parts: Parts, memory: Memory): Promise<void> {
  const fence = await holdLease(parts, memory);
  const view = fence && (await openView(parts, memory));
  if (!fence || !view) return;
  memory.pace.note(view.head, parts.clock());
  const nowSeconds = chainNow(memory, view.head, parts.clock());
  const pass: Pass = { parts, memory, fence, view, nowSeconds, signer: parts.signers[0] };

  const { upTo, isOld } = await sweep(followTurn(pass));
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

/** The lease, renewed or newly taken; undefined while another instance shows that it lives. */
async function holdLease(parts: Parts, memory: Memory): Promise<Fence | undefined> {
  const { ledger, tuning, report, instance, chain } = parts;
  if (memory.fence) {
    try {
      await ledger.renewLease(memory.fence);
      return memory.fence;
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      memory.fence = undefined;
      report({ kind: "lease_lost" });
    }
  }
  const seen = await ledger.findLease(chain.chainId);
  if (seen && seen.holder !== "" && !isSilent(memory, seen, parts.clock(), tuning.leaseMs)) {
    return undefined;
  }
  memory.fence = await ledger.takeLease(chain.chainId, instance, seen);
  if (memory.fence) report({ kind: "lease_taken", epoch: memory.fence.epoch });
  return memory.fence;
}

function isSilent(
  memory: Memory,
  seen: NonNullable<Memory["watched"]>["lease"],
  nowMs: number,
  leaseMs: number,
): boolean {
  const last = memory.watched;
  const isSame = last?.lease.epoch === seen.epoch && last.lease.renewals === seen.renewals;
  if (!last || !isSame) {
    memory.watched = { lease: seen, sinceMs: nowMs };
    return false;
  }
  return nowMs - last.sinceMs >= leaseMs;
}
