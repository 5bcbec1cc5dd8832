// Runs the loop for one chain. Each iteration is a poll, which renews or takes the lease and
// decides whether a pass is needed. A pass does the executor's work. All results are saved after
// each step, so a process can be killed at any time. If a pass fails, the next pass continues.
//
// Each pass has these steps:
// - read the logs of new blocks and find payments
// - settle, resend, or replace transactions
// - find jobs that a wrong block time postponed too far
// - work on due jobs
// - read the balances of new records
// - return reported tokens

import type { Hex } from "executable-address";
import { type BlockPace, openBlockPace } from "../chain/rpc/heads.ts";
import { type Network, openNetwork, openRelays, type Relays } from "../chain/rpc/network.ts";
import type { View } from "../chain/rpc/view.ts";
import { dayOf, daySeconds } from "../flow/days.ts";
import { min } from "../flow/numbers.ts";
import { once } from "../flow/together.ts";
import { type FollowMemory, openFollowMemory } from "../follow/context.ts";
import { sweep } from "../follow/sweep.ts";
import {
  decidePoll,
  openPollMemory,
  type PollMemory,
  readBudgetShare,
  recordPass,
  reportSkippedPoll,
} from "./decide-poll.ts";
import { openShortageMemory, type ShortageMemory, signAndSend } from "./jobs/dispatch.ts";
import { type EstimateMemory, openEstimateMemory } from "./jobs/estimate.ts";
import { openReportedMemory, type ReportedMemory, returnReported } from "./jobs/reported-tokens.ts";
import { type FactoryMemory, openFactoryMemory, work } from "./jobs/work.ts";
import type { LatePlace } from "./ledger/due.ts";
import { type Fence, LeaseLost, type LeaseWatch, openLeaseWatch } from "./ledger/lease.ts";
import type { Purpose } from "./ledger/purposes.ts";
import { type Budgets, openBudgets, reserveFor } from "./money/budgets.ts";
import type { Parts, Pass } from "./pass.ts";
import {
  openScanMemory,
  type ScanMemory,
  scanNewRecords,
  sweepContext,
} from "./payments/detect.ts";
import { type HoldingsMemory, openHoldingsMemory } from "./payments/vaults.ts";
import {
  computeNonceCostMax,
  openUnknownNonces,
  type UnknownNonces,
} from "./transactions/foreign.ts";
import { computeCostMax, type Purse } from "./transactions/purse.ts";
import { openTraceMemory, type TraceMemory } from "./transactions/receipt.ts";
import { openSendMemory, type SendMemory } from "./transactions/send.ts";
import { keepUp, openKey, type SendingKey } from "./transactions/sending-key.ts";
import { openReceiptMemory, type ReceiptMemory } from "./transactions/settle.ts";

/** The newest block, and when this process first saw it. */
type ClockMemory = { clock: { hash: Hex; timestamp: number; sinceMs: number } | undefined };

type LeaseMemory = {
  lease: {
    /** The lease of this process. */
    fence: Fence | undefined;
    /** Checks whether the lease of another process has stopped changing. */
    isUnchanged: LeaseWatch;
  };
};

/**
 * The state that a chain's loop keeps in memory. It can be lost at any time, because all important
 * data is in the database.
 */
export type Memory = {
  network: Network;
  relays: Relays;
  pace: BlockPace;
  follow: FollowMemory;
} & LeaseMemory &
  ClockMemory &
  PollMemory &
  ScanMemory &
  HoldingsMemory &
  FactoryMemory &
  LateMemory &
  EstimateMemory &
  ShortageMemory &
  ReportedMemory &
  SendMemory &
  ReceiptMemory &
  TraceMemory &
  UnknownNonces;

export function openMemory(parts: Parts): Memory {
  const { chain, endpoints, relays, report, clock, sleep } = parts;
  return {
    network: openNetwork(chain.chainId, endpoints, report, { clock, sleep }),
    relays: openRelays(chain.chainId, relays, report, { clock, sleep }),
    pace: openBlockPace(),
    follow: openFollowMemory(),
    lease: { fence: undefined, isUnchanged: openLeaseWatch(clock) },
    clock: undefined,
    ...openPollMemory(clock()),
    ...openScanMemory(),
    ...openHoldingsMemory(),
    ...openFactoryMemory(),
    ...openLateMemory(),
    ...openEstimateMemory(),
    ...openShortageMemory(),
    ...openReportedMemory(),
    ...openSendMemory(),
    ...openReceiptMemory(),
    ...openTraceMemory(),
    ...openUnknownNonces(),
  };
}

/** Runs the loop until `stopping.aborted` is true, and then releases the lease. Never rejects. */
export async function run(parts: Parts, stopping: { readonly aborted: boolean }): Promise<void> {
  const memory = openMemory(parts);
  while (!stopping.aborted) {
    try {
      await poll(parts, memory);
    } catch (error) {
      const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      parts.report({ kind: "pass_failed", message });
    }
    if (!stopping.aborted)
      await parts.waitForPoll(parts.tuning.pollMs * (0.9 + parts.random() / 5));
  }
  const { fence } = memory.lease;
  if (fence) await parts.ledger.releaseLease(fence).catch(() => {});
}

/**
 * Runs a pass, unless another process has the lease or there is nothing to do.
 *
 * @throws the error that ended the poll or the pass. The next pass continues from the saved data
 */
async function poll(parts: Parts, memory: Memory): Promise<void> {
  const fence = await holdLease(parts, memory);
  const view = fence && (await openView(parts, memory));
  if (fence && view) await runPass(parts, memory, fence, view);
}

async function runPass(parts: Parts, memory: Memory, fence: Fence, view: View): Promise<void> {
  memory.pace.note(view.head, parts.clock());
  const nowSeconds = readChainClock(memory, view.head, parts.clock());
  const pass: Pass<Memory> = { parts, memory, fence, view, nowSeconds, signer: parts.signers[0] };

  const { upTo, isOld } = await sweep(sweepContext(pass));
  parts.onSwept?.();
  const keys: SendingKey[] = [];
  for (const signer of parts.signers) keys.push(await openKey({ ...pass, signer }));
  const pending = keys.flatMap((key) => key.pending);
  const budgets = once(() => openDayBudgets(pass, pending, keys[0]!.openPurse));
  const isPaused = await parts.ledger.isPaused(parts.chain.chainId);
  for (const key of keys) {
    if (!isPaused) await keepUp(key, budgets);
    // Calls `openPurse` even if the key has nothing to send, because `openPurse` reports the
    // balance.
    if (key.isFresh && key.pending.length === 0) await key.openPurse();
  }
  await searchLateJobs(pass);
  // If `isOld`, the known logs are from later blocks than the endpoints' newest block. The
  // endpoints' balances are then outdated, so no jobs are handled.
  const due = isOld || isPaused ? 0 : await work(pass, keys, budgets, signAndSend);

  const blocksBehind = Math.max(0, view.head.number - parts.chain.paymentConfirmations - upTo);
  parts.report({
    kind: "pass",
    blocksBehind,
    secondsBehind: blocksBehind === 0 ? 0 : nowSeconds - view.head.timestamp,
    due,
    waitedSeconds: isPaused ? 0 : await recallWaitedSeconds(pass),
    inFlight: keys.reduce((sum, key) => sum + key.unmined.length, 0),
    scores: view.scores,
    budgetShare: readBudgetShare(memory.last, view.head.timestamp),
  });
  // New records are scanned after the jobs, so that a failed scan does not delay known payments.
  const isScanned = await scanNewRecords(pass, blocksBehind);
  if (!isOld && !isPaused) await returnReported(pass, keys, budgets, due > 0);
  const isQuiet = !isOld && blocksBehind === 0 && isScanned && pending.length === 0 && due === 0;
  recordPass(memory, parts.clock(), isQuiet);
}

/** Renews or takes the lease. Returns undefined if another process has it. */
async function holdLease(parts: Parts, { lease }: LeaseMemory): Promise<Fence | undefined> {
  const { ledger, tuning, report, instance, chain } = parts;
  if (lease.fence) {
    try {
      await ledger.renewLease(lease.fence);
      return lease.fence;
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      lease.fence = undefined;
      report({ kind: "lease_lost" });
    }
  }
  const found = await ledger.findLease(chain.chainId);
  const isFree = !found || found.holder === "";
  if (!isFree && !lease.isUnchanged(found, tuning.leaseMs)) return undefined;
  lease.fence = await ledger.takeLease(chain.chainId, instance, found);
  if (lease.fence) report({ kind: "lease_taken", epoch: lease.fence.epoch });
  return lease.fence;
}

/** Opens a view of the chain, or returns undefined if there is nothing to do. */
async function openView(parts: Parts, memory: Memory): Promise<View | undefined> {
  const { clock, network, last } = memory;
  // The first poll always reads a block, because the chain's time is unknown until then.
  const kind = clock
    ? await decidePoll(parts, memory, readChainClock(memory, clock, parts.clock()))
    : "pass";
  if (kind === "skip") return undefined;
  // If the requests to the endpoints fail, the next poll must not be skipped.
  last.isQuiet = false;
  const view = await (kind === "peek" ? network.openNewView(clock!.hash) : network.openView());
  if (view) last.view = view;
  if (last.view) parts.onHead?.(last.view.head);
  if (!view) {
    last.isQuiet = true;
    reportSkippedPoll(parts, memory);
  }
  return view;
}

/** Reads the budgets, and records the used share, which the executor reports. */
async function openDayBudgets(
  pass: Pass<Memory>,
  pending: readonly Purpose[],
  openPurse: () => Promise<Purse>,
): Promise<Budgets> {
  const { parts, memory, view } = pass;
  const budgets = await readDayBudgets(pass, pending, openPurse);
  const share = 1 - Number(budgets.left()) / Number(parts.chain.budgets.perDayMax);
  memory.last.budget = { day: dayOf(view.head.timestamp), share };
  return budgets;
}

/**
 * Returns the budgets for the day of the newest block. Subtracts the costs charged on this day.
 * Also subtracts the highest possible costs of pending and unknown transactions.
 */
export async function readDayBudgets(
  pass: Pass<UnknownNonces & SendMemory>,
  pending: readonly Purpose[],
  openPurse: () => Promise<Purse>,
): Promise<Budgets> {
  const { parts, memory, view } = pass;
  const { ledger, chain } = parts;
  const day = dayOf(view.head.timestamp);
  const total = await ledger.readSpending(chain.chainId, day);
  const accounts = await ledger.readAccountSpending(chain.chainId, day);
  const budgets = openBudgets(chain.budgets, { total, accounts });
  const { perByte } = await openPurse();
  for (const purpose of pending)
    reserveFor(budgets, purpose.shares, computeCostMax(purpose, perByte));
  for (const { count } of memory.unknownNonces.values()) {
    budgets.reserveForChain(min(BigInt(count) * computeNonceCostMax(pass), budgets.left()));
  }
  return budgets;
}

/**
 * Returns the timestamp of `head` plus the seconds since this process first saw `head`. Uses a
 * monotonic clock, and never the host's wall clock.
 */
function readChainClock(
  memory: ClockMemory,
  { hash, timestamp }: { hash: Hex; timestamp: number },
  nowMs: number,
): number {
  if (memory.clock?.hash !== hash) memory.clock = { hash, timestamp, sinceMs: nowMs };
  return timestamp + Math.floor((nowMs - memory.clock.sinceMs) / 1000);
}

type LateMemory = {
  /**
   * The current search for jobs that were postponed too far. `place` is the position at which the
   * search continues, and `found` is the number of jobs changed so far.
   */
  late: { place: LatePlace | undefined; beganMs: number; found: number };
  /** How long the oldest payment has waited, and when this value was read. */
  waited: { seconds: number; atMs: number };
};

const openLateMemory = (): LateMemory => ({
  late: { place: undefined, beganMs: Number.NEGATIVE_INFINITY, found: 0 },
  waited: { seconds: 0, atMs: Number.NEGATIVE_INFINITY },
});

type LatePass = Pass<LateMemory>;

/**
 * A job is due within this number of seconds, unless it waits for its intent to expire. A wait for
 * a budget ends at midnight, and a backoff takes at most six hours.
 */
const dueSecondsMax = daySeconds;

const searchLateEveryMs = 600_000;

/**
 * Makes jobs due if a wrong block time postponed them for more than `dueSecondsMax`. A search
 * begins every `searchLateEveryMs`, and needs several calls if there are many late jobs. At its
 * end, the search reports the number of changed jobs.
 */
async function searchLateJobs(pass: LatePass): Promise<void> {
  const { parts, memory, fence, view } = pass;
  const search = memory.late;
  const { timestamp } = view.head;
  if (!search.place) {
    if (parts.clock() - search.beganMs < searchLateEveryMs) return;
    search.beganMs = parts.clock();
    search.found = 0;
    search.place = { dueAtSeconds: timestamp + dueSecondsMax, address: "0x" };
  }
  const { count, next } = await parts.ledger.pullLate(fence, search.place);
  search.found += count;
  search.place = next;
  if (!next) parts.report({ kind: "late_jobs", count: search.found });
}

const readWaitedEveryMs = 60_000;

/** Returns how long the oldest payment has waited. Reads the database every `readWaitedEveryMs`. */
async function recallWaitedSeconds(pass: LatePass): Promise<number> {
  const { parts, memory, nowSeconds } = pass;
  const nowMs = parts.clock();
  if (nowMs - memory.waited.atMs >= readWaitedEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.waited = { seconds, atMs: nowMs };
  }
  return memory.waited.seconds;
}
