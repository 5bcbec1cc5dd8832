// Groups executions or recoveries into transactions. Also decides whether tips or the operator's
// budgets pay for them. If neither pays for a job, the job waits without delaying other jobs.

import { size } from "viem/utils";
import { waitForBudget } from "../ledger/due.ts";
import type { JobUpdate } from "../ledger/jobs.ts";
import type { Reason } from "../ledger/reasons.ts";
import { type Budgets, divideCost } from "../money/budgets.ts";
import { computeCost, type Size } from "../money/fees.ts";
import { computeTipsValue } from "../money/tips.ts";
import type { Pass } from "../pass.ts";
import type { Tuning } from "../settings.ts";
import { canAfford, computeGasPerByte, type Purse } from "../transactions/purse.ts";
import { gasMax } from "../transactions/send.ts";
import {
  type Batch,
  computeGasLimit,
  computeShares,
  computeSizeMax,
  countCalldataBytes,
  type Ready,
} from "./gas.ts";

/** A tip must be worth at least 5/4 of the execution's cost at the current fee. */
const tipMargin = { of: 5n, by: 4n };

/**
 * Groups the jobs into batches that tips or budgets pay for. Batches of executions come first. Also
 * returns updates for the jobs that neither a tip nor a budget pays for (`unpaid`). Reserves
 * nothing in `budgets`, because `dispatch` reserves the costs of the batches that it sends.
 */
export function admit(
  pass: Pass,
  ready: readonly Ready[],
  purse: Purse,
  budgets: Budgets,
): { batches: Batch[]; unpaid: JobUpdate[] } {
  const unpaid: JobUpdate[] = [];
  const postpone = ({ item: { job } }: Ready, reason: Reason) =>
    unpaid.push(waitForBudget(job, pass.nowSeconds, reason));
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
    const batches = formAllBatches(pass, purse, rest);
    const refused = new Set<Ready>();
    const trial = budgets.fork();
    for (const batch of batches) {
      const shares = computeShares(batch, computeGasPerByte(purse));
      const costs = divideCost(
        computeCost(computeSizeMax(batch.ready), purse.suggested.maxFee, purse.perByte),
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

/**
 * Returns whether the tip pays for the gas. Returns false if the execution has failed on chain
 * before, because failed executions pay no tip.
 */
function isCovered({ parts }: Pass, purse: Purse, ready: Ready): boolean {
  const { item, gas, kind } = ready;
  if (kind !== "execute" || item.job.paidFailures > 0) return false;
  const size = { gas, bytes: countCalldataBytes(ready) };
  const cost = computeCost(size, purse.neededPerGas, purse.perByte);
  const value = computeTipsValue(parts.chain.tipPrices, item.tips);
  return value > 0n && value * tipMargin.by >= cost * tipMargin.of;
}

function formAllBatches(pass: Pass, purse: Purse, ready: readonly Ready[]): Batch[] {
  const affords = (size: Size) => canAfford(purse, size);
  const limits = { ...pass.parts.tuning, batchGasMax: gasMax(pass), affords };
  const executions = ready.filter(({ kind }) => kind === "execute");
  const recoveries = ready.filter(({ kind }) => kind === "recover");
  return [...formBatches(executions, limits), ...formBatches(recoveries, limits)];
}

type BatchLimits = Pick<Tuning, "batchGasMax" | "batchItemsMax" | "batchBytesMax"> & {
  /** Returns whether the balance pays for a transaction of this size. */
  affords(size: Size): boolean;
};

/**
 * The maximum ratio between the largest and the smallest gas estimate in a batch. If no trace is
 * available, the cost of an item that burns all its gas is divided among all items. With this
 * limit, each item still pays for less than twice its own gas.
 */
export const gasRatioMax = 1.45;

/**
 * Groups the items into batches that comply with `limits`. An item that has failed before gets its
 * own transaction, in case it fails again. Items that pay a tip and items that the operator pays
 * for are in separate transactions.
 *
 * The factory divides the remaining gas equally among the remaining items. Therefore, no item can
 * use up the gas of later items. All shares are equal, so each share must be large enough for the
 * largest item. To keep the gas limit low, a transaction contains only items with similar gas
 * estimates (`gasRatioMax`).
 */
export function formBatches(ready: readonly Ready[], limits: BatchLimits): Batch[] {
  const alone = ready.filter(({ item }) => item.job.failures > 0);
  const together = ready.filter(({ item }) => item.job.failures === 0);
  const byTip = ({ isTipped = false }: Ready) => Number(isTipped);
  together.sort((a, b) => byTip(a) - byTip(b) || a.gas - b.gas);
  const batches: Batch[] = [];
  let open: Ready[] = [];
  const close = () => {
    if (open.length > 0) batches.push({ ready: open, gas: computeGasLimit(open) });
    open = [];
  };
  for (const next of together) {
    if (!fits([...open, next], limits)) close();
    open.push(next);
  }
  close();
  return [...batches, ...alone.map((one) => ({ ready: [one], gas: computeGasLimit([one]) }))];
}

function fits(items: readonly Ready[], limits: BatchLimits): boolean {
  const bytes = items.reduce((sum, { item }) => sum + size(item.job.terms), 0);
  const [first, last] = [items[0]!, items.at(-1)!];
  return (
    items.length <= limits.batchItemsMax &&
    last.gas <= first.gas * gasRatioMax &&
    last.isTipped === first.isTipped &&
    computeGasLimit(items) <= limits.batchGasMax &&
    bytes <= limits.batchBytesMax &&
    limits.affords(computeSizeMax(items))
  );
}
