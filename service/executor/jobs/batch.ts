// Which executions, or which recoveries, go together in one transaction, and how much gas it gets.

import type { Hex } from "executable-address";
import { size } from "viem/utils";
import { gasMargin } from "../../chain/execution-gas.ts";
import type { Share } from "../ledger/purposes.ts";
import type { Size } from "../money/data-fee.ts";
import type { Tuning } from "../parts.ts";
import type { Examined } from "./examine.ts";

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
export function itemCalldataBytes(ready: Pick<Ready, "item"> & Act): number {
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
