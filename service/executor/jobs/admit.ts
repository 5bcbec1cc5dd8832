// Decides who pays for each transaction that is ready: a tip, or the operator's budgets. One that
// nobody pays for waits and holds up no other.

import { midnightAfter } from "../../flow/days.ts";
import { patience } from "../ledger/backoff.ts";
import type { JobUpdate } from "../ledger/jobs.ts";
import { type Budgets, shareOut } from "../money/budgets.ts";
import { costOf, type Size } from "../money/data-fee.ts";
import { valueOfTips } from "../money/tips.ts";
import type { Pass } from "../parts.ts";
import { canAfford, gasMax, gasPerByte, type Purse } from "../transactions/send.ts";
import {
  type Batch,
  batchesOf,
  itemCalldataBytes,
  type Ready,
  sharesOf,
  sizeMax,
} from "./batch.ts";

/** A tip covers an execution if it is worth its gas at the current fee and a quarter more. */
const tipMargin = { of: 5n, by: 4n };

/** How soon a budget is asked again: what is in flight counts at its cap, and may cost less. */
const budgetSeconds = 60;

/**
 * The batches that somebody pays for, executions first; `unpaid` says when each of the other jobs
 * is asked about again.
 */
export function admit(
  pass: Pass,
  ready: readonly Ready[],
  purse: Purse,
  budgets: Budgets,
): { batches: Batch[]; unpaid: JobUpdate[] } {
  const unpaid: JobUpdate[] = [];
  const postpone = ({ item: { job } }: Ready, reason: string) => {
    const waitedSeconds = patience(budgetSeconds, pass.nowSeconds - job.detectedAtSeconds);
    // A new day has new budgets.
    const dueAtSeconds = Math.min(pass.nowSeconds + waitedSeconds, midnightAfter(pass.nowSeconds));
    unpaid.push({ address: job.address, state: "waiting", dueAtSeconds, reason });
  };
  const { pays } = pass.parts.chain;
  let rest = ready.flatMap((each) => {
    const isTipped = pays !== "sponsor" && isCovered(pass, purse, each);
    if (pays !== "tips" || isTipped) return [{ ...each, isTipped }];
    postpone(
      each,
      each.kind === "recover" ? "recovery_left_to_its_owner" : "tip_does_not_cover_gas",
    );
    return [];
  });
  for (;;) {
    const batches = batchesFor(pass, purse, rest);
    const refused = new Set<Ready>();
    const trial = budgets.fork();
    for (const batch of batches) {
      const shares = sharesOf(batch, gasPerByte(purse));
      const costs = shareOut(
        costOf(sizeMax(batch.ready), purse.suggested.maxFee, purse.perByte),
        shares,
      );
      shares.forEach((share, index) => {
        const cost = costs.get(share.address)!;
        const reason = trial.refusal(share, cost);
        if (reason) {
          refused.add(batch.ready[index]!);
          postpone(batch.ready[index]!, reason);
        } else trial.reserve(share, cost);
      });
    }
    if (refused.size === 0) return { batches, unpaid };
    rest = rest.filter((each) => !refused.has(each));
  }
}

/** The tip of one that failed on chain before is not trusted again: it was not paid then. */
function isCovered({ parts }: Pass, purse: Purse, ready: Ready): boolean {
  const { item, gas, kind } = ready;
  if (kind === "recover" || item.job.paidFailures > 0) return false;
  const size = { gas, bytes: itemCalldataBytes(ready) };
  const cost = costOf(size, purse.neededPerGas, purse.perByte);
  const value = valueOfTips(parts.chain.tipPrices, item.tips);
  return value > 0n && value * tipMargin.by >= cost * tipMargin.of;
}

/** Executions first; recoveries in batches of their own. */
function batchesFor(pass: Pass, purse: Purse, ready: readonly Ready[]): Batch[] {
  const affords = (size: Size) => canAfford(purse, size);
  const limits = { ...pass.parts.tuning, batchGasMax: gasMax(pass), affords };
  const executions = ready.filter(({ kind }) => kind === "execute");
  const recoveries = ready.filter(({ kind }) => kind === "recover");
  return [...batchesOf(executions, limits), ...batchesOf(recoveries, limits)];
}
