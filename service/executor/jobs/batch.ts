// Groups executions or recoveries into transactions and sets their gas limits. Also decides whether
// tips or the operator's budgets pay for them. If neither pays for a job, the job waits without
// delaying other jobs.

import { fromHex, gasMargin, type Hex } from "executable-address";
import { size } from "viem/utils";
import { transactionGasMin } from "../../chain/execution-gas.ts";
import { computeBudgetRetryAt, type JobUpdate } from "../ledger/jobs.ts";
import type { Share } from "../ledger/purposes.ts";
import type { Reason } from "../ledger/reasons.ts";
import { type Budgets, divideCost } from "../money/budgets.ts";
import { computeCost, type Size } from "../money/fees.ts";
import { computeTipsValue } from "../money/tips.ts";
import type { Pass, Tuning } from "../pass.ts";
import type { Examined } from "../payments/vaults.ts";
import { canAfford, computeGasPerByte, gasMax, type Purse } from "../transactions/send.ts";

/** A tip must be worth at least 5/4 of the execution's cost at the current fee. */
const tipMargin = { of: 5n, by: 4n };

/**
 * Groups the jobs into batches that tips or budgets pay for, executions first. Also returns updates
 * for the jobs that neither a tip nor a budget pays for (`unpaid`).
 */
export function admit(
  pass: Pass,
  ready: readonly Ready[],
  purse: Purse,
  budgets: Budgets,
): { batches: Batch[]; unpaid: JobUpdate[] } {
  const unpaid: JobUpdate[] = [];
  const postpone = ({ item: { job } }: Ready, reason: Reason) => {
    const dueAtSeconds = computeBudgetRetryAt(pass.nowSeconds, job.detectedAtSeconds);
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

/** What to do with an item: execute it, recover `tokens`, or return a reported token (named.ts). */
type Act =
  | { kind: "execute" }
  | { kind: "recover"; tokens: readonly Hex[] }
  | { kind: "return"; token: Hex };

/** An item and the gas that it needs. `isTipped` is true if the item's tip pays for this gas. */
export type Ready = { item: Examined; gas: number; isTipped?: boolean } & Act;

/** All items in a batch are of the same kind. */
export type Batch = { ready: Ready[]; gas: number };

type BatchLimits = Pick<Tuning, "batchGasMax" | "batchItemsMax" | "batchBytesMax"> & {
  /** Returns whether the balance pays for a transaction of this size. */
  affords(size: Size): boolean;
};

/**
 * The maximum ratio between the largest and the smallest gas estimate in a batch. Without a trace,
 * other items share the cost of an item that burns all its gas. With this limit, each item still
 * pays for less than twice its own gas.
 */
const gasFactor = 1.45;
/**
 * An upper bound on a transaction's gas in addition to the gas for its items. The tests compare the
 * gas limits with contracts/snapshots/gas.json.
 */
export const baseGas = 40_000;

/**
 * Groups the items into batches that comply with `limits`. An item that has failed before gets its
 * own transaction, in case it fails again. Items that pay a tip and items that the operator pays
 * for are in separate transactions.
 *
 * The factory divides the remaining gas equally among the remaining items. Therefore, no item can
 * use up the gas of later items. All shares are equal, so each share must be large enough for the
 * largest item. To keep the gas limit low, a transaction contains only items with similar gas
 * estimates (`gasFactor`).
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
    last.gas <= first.gas * gasFactor &&
    last.isTipped === first.isTipped &&
    computeGasLimit(items) <= limits.batchGasMax &&
    bytes <= limits.batchBytesMax &&
    limits.affords(computeSizeMax(items))
  );
}

/**
 * Returns the gas limit for a transaction that contains `items`.
 * @param items sorted by gas, lowest first
 */
export function computeGasLimit(items: readonly Pick<Ready, "gas">[]): number {
  return Math.ceil(baseGas + items.length * items.at(-1)!.gas * gasMargin);
}

/**
 * Upper bounds on calldata sizes in bytes. `callBytes` is for a `batch` call without its items.
 * `itemBytes` is for an item without its encoded terms. A test compares both with the calldata that
 * the library encodes.
 */
const callBytes = 100;
const itemBytes = 256;

/** Returns the maximum calldata size of an item, in bytes. */
function countCalldataBytes(ready: Pick<Ready, "item"> & Act): number {
  const tokens = ready.kind === "recover" ? ready.tokens.length : 1;
  return itemBytes + size(ready.item.job.terms) + 32 * tokens;
}

/**
 * Returns the maximum size of a transaction with these items.
 * @param items sorted by gas, lowest first
 */
export const computeSizeMax = (items: readonly Ready[]): Size => ({
  gas: computeGasLimit(items),
  bytes: items.reduce((sum, each) => sum + countCalldataBytes(each), callBytes),
});

/**
 * Splits a batch's gas among its items in proportion to their estimates. The sum of the shares is
 * exactly the batch's gas.
 *
 * @param gasPerByte the fee for one byte of calldata, in gas; 0 if there is none
 */
export function computeShares({ ready, gas }: Batch, gasPerByte: number): Share[] {
  const weights = ready.map((each) => each.gas + gasPerByte * countCalldataBytes(each));
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const gases = weights.map((weight) => Math.floor((gas * weight) / sum));
  gases[0]! += gas - gases.reduce((all, each) => all + each, 0);
  return ready.map(({ item: { job }, isTipped = false }, index) => ({
    address: job.address,
    gas: gases[index]!,
    accountId: job.accountId,
    isClientId: job.isClientId,
    isTipped,
  }));
}

/**
 * The gas that a recovery needs in addition to its transfers and its calldata. A recovery needs
 * `closeGas` once, and `perTokenGas` for each transfer. Both values are generous. Without EIP-8037,
 * `closeGas` plus `perTokenGas` exceeds the gas of a whole recovery with one transfer. See "refund,
 * expired" in contracts/snapshots/gas.json.
 */
const closeGas = 120_000;
const perTokenGas = 40_000;
/**
 * The gas for a zero byte of calldata (EIP-7623). `floor` applies if a transaction needs little gas
 * in addition to its calldata. Otherwise, `usual` applies. Nonzero bytes cost four times as much.
 */
const calldataGas = { usual: 4, floor: 10 };
const nonzeroFactor = 4;

/**
 * Returns the gas that a recovery needs. The estimate of a whole recovery would be too low. A
 * recovery succeeds even if its transfers run out of gas. Each transfer gets the same amount of
 * gas.
 *
 * @param transfers sorted by gas, lowest first
 */
export function computeRecoveryGas(item: Examined, transfers: readonly { gas: number }[]): number {
  const calldata = size(item.job.terms) * nonzeroFactor * calldataGas.floor;
  const dearest = transfers.at(-1)!.gas;
  return Math.ceil(closeGas + calldata + transfers.length * (perTokenGas + dearest));
}

/**
 * The approximate gas of a recovery of one token, without its calldata. The first recovery of an
 * unexecuted intent deploys the vault. `deploys` is between the measured values of "refund,
 * expired" without EIP-8037 in contracts/snapshots/gas.json. `isDeployed` is between the measured
 * values of "late sweep" in the same file.
 */
const recoveryGas = { deploys: 94_000, isDeployed: 50_000 };

/** Returns the approximate cost of a recovery in wei, at the current fees. */
export function estimateRecoveryCost(item: Examined, { neededPerGas, perByte }: Purse): bigint {
  const terms = fromHex(item.job.terms);
  const weight = terms.reduce((sum, byte) => sum + (byte === 0 ? 1 : nonzeroFactor), 0);
  const gas = Math.max(
    (item.vault.hasCode ? recoveryGas.isDeployed : recoveryGas.deploys) +
      calldataGas.usual * weight,
    transactionGasMin + calldataGas.floor * weight,
  );
  const bytes = countCalldataBytes({ kind: "recover", item, tokens: [] });
  return computeCost({ gas, bytes }, neededPerGas, perByte);
}
