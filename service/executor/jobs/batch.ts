// Decides which executions, or which recoveries, share a transaction, how much gas it gets, and who
// pays for it: tips or the operator's budgets. A job that nobody pays for waits and delays no
// other.

import { fromHex, type Hex } from "executable-address";
import { size } from "viem/utils";
import { gasMargin } from "../../chain/execution-gas.ts";
import { midnightAfter } from "../../flow/days.ts";
import { type JobUpdate, patience } from "../ledger/jobs.ts";
import type { Share } from "../ledger/purposes.ts";
import { type Budgets, shareOut } from "../money/budgets.ts";
import { costOf, type Size } from "../money/fees.ts";
import { valueOfTips } from "../money/tips.ts";
import type { Pass, Tuning } from "../pass.ts";
import type { Examined } from "../payments/vaults.ts";
import { canAfford, gasMax, gasPerByte, type Purse } from "../transactions/send.ts";

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

/** An item is executed, or its recovery returns `tokens`. */
type Act = { kind: "execute" } | { kind: "recover"; tokens: readonly Hex[] };

/**
 * An item that was estimated by itself, and the gas that it takes as a transaction of its own;
 * `isTipped`: its tip pays for it.
 */
export type Ready = { item: Examined; gas: number; isTipped?: boolean } & Act;

/** Its items are of one kind: executions, or recoveries. */
export type Batch = { ready: Ready[]; gas: number };

type BatchLimits = Pick<Tuning, "batchGasMax" | "batchItemsMax" | "batchBytesMax"> & {
  /** Whether there is money for a transaction of that size. */
  affords(size: Size): boolean;
};

/**
 * The most gas in a batch, as a multiple of the least. An item that burns all its gas makes the
 * others pay part of it where no trace tells who took what: with the margin, less than twice their
 * own.
 */
const gasFactor = 1.45;
/** A transaction takes so much besides its items, at most. */
export const baseGas = 40_000;

/**
 * Puts items that never failed into batches within the limits. One that has failed before gets a
 * transaction of its own, so that its next failure costs no other. Tipped ones go apart.
 *
 * The factory gives each item an equal share of the gas left. So items of like gas go together, and
 * every item is allowed as much as the largest: then none can starve those after it, whatever it
 * does with its own share.
 */
export function batchesOf(ready: readonly Ready[], limits: BatchLimits): Batch[] {
  const alone = ready.filter(({ item }) => item.job.failures > 0);
  const together = ready.filter(({ item }) => item.job.failures === 0);
  const byTip = ({ isTipped = false }: Ready) => Number(isTipped);
  together.sort((a, b) => byTip(a) - byTip(b) || a.gas - b.gas);
  const batches: Batch[] = [];
  let open: Ready[] = [];
  const close = () => {
    if (open.length > 0) batches.push({ ready: open, gas: gasOf(open) });
    open = [];
  };
  for (const next of together) {
    if (!fits([...open, next], limits)) close();
    open.push(next);
  }
  close();
  return [...batches, ...alone.map((one) => ({ ready: [one], gas: gasOf([one]) }))];
}

function fits(items: readonly Ready[], limits: BatchLimits): boolean {
  const bytes = items.reduce((sum, { item }) => sum + size(item.job.terms), 0);
  const [first, last] = [items[0]!, items.at(-1)!];
  return (
    items.length <= limits.batchItemsMax &&
    last.gas <= first.gas * gasFactor &&
    last.isTipped === first.isTipped &&
    gasOf(items) <= limits.batchGasMax &&
    bytes <= limits.batchBytesMax &&
    limits.affords(sizeMax(items))
  );
}

/** @param items in ascending order of gas */
export function gasOf(items: readonly Pick<Ready, "gas">[]): number {
  return Math.ceil(baseGas + items.length * items.at(-1)!.gas * gasMargin);
}

/** Bytes of the call of `batch`, and of each item besides its terms. */
const callBytes = 100;
const itemBytes = 256;

/** Bytes of calldata, at most. */
function itemCalldataBytes(ready: Pick<Ready, "item"> & Act): number {
  const tokens = ready.kind === "recover" ? ready.tokens.length : 0;
  return itemBytes + size(ready.item.job.terms) + 32 * tokens;
}

/** The size of the transaction that they share. @param items in ascending order of gas */
export const sizeMax = (items: readonly Ready[]): Size => ({
  gas: gasOf(items),
  bytes: items.reduce((sum, each) => sum + itemCalldataBytes(each), callBytes),
});

/**
 * Each address's part of the gas, by what it took alone; the parts sum to the whole.
 *
 * @param gasPerByte where the chain takes a fee for bytes: the gas that costs as much
 */
export function sharesOf({ ready, gas }: Batch, gasPerByte: number): Share[] {
  const weights = ready.map((each) => each.gas + gasPerByte * itemCalldataBytes(each));
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

/** Closing the vault, on top of what its transfers take by themselves. */
const closeGas = 120_000;
const perTokenGas = 40_000;
/** EIP-7623: the floor of what a byte of calldata costs, when none of it is zero. */
const calldataByteGas = 40;

/**
 * Added up from its parts. An estimate of the recovery itself would be too low: it succeeds also
 * where its transfers run out of gas. The factory gives all of them as much as the dearest takes.
 * @param transfers the cheapest first
 */
export function recoverGas(item: Examined, transfers: readonly { gas: number }[]): number {
  const calldata = size(item.job.terms) * calldataByteGas;
  const dearest = transfers.at(-1)!.gas;
  return Math.ceil(closeGas + calldata + transfers.length * (perTokenGas + dearest));
}

/** A recovery of one token takes about so much, besides its calldata. */
const ordinaryGas = 50_000;
/** EIP-7623, for each zero byte; four times as much for another. */
const calldataGas = 4;
const calldataFloor = { base: 21_000, gas: 10 };

/** Costs it in wei, at the current fee, with the fee for bytes where the chain takes one. */
export function recoveryCost(item: Examined, { neededPerGas, perByte }: Purse): bigint {
  const terms = fromHex(item.job.terms);
  const weight = terms.reduce((sum, byte) => sum + (byte === 0 ? 1 : 4), 0);
  const gas = Math.max(
    ordinaryGas + calldataGas * weight,
    calldataFloor.base + calldataFloor.gas * weight,
  );
  const bytes = itemCalldataBytes({ kind: "recover", item, tokens: [] });
  return costOf({ gas, bytes }, neededPerGas, perByte);
}
