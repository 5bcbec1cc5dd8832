// Computes how much gas the transactions of the executor need: their gas limits, the share of each
// item, and the cost of a recovery.

import { fromHex, gasMargin, type Hex } from "executable-address";
import { size } from "viem/utils";
import { calldataGas, nonzeroFactor, transactionGasMin } from "../../chain/gas-limits.ts";
import type { Share } from "../ledger/purposes.ts";
import { computeCost, type Size } from "../money/fees.ts";
import type { Examined } from "../payments/vaults.ts";
import type { Purse } from "../transactions/purse.ts";

/** The action for an item: execute it, recover `tokens`, or return a reported token. */
type Act =
  | { kind: "execute" }
  | { kind: "recover"; tokens: readonly Hex[] }
  | { kind: "return"; token: Hex };

/** An item and the gas that it needs. `isTipped` is true if the item's tip pays for this gas. */
export type Ready = { item: Examined; gas: number; isTipped?: boolean } & Act;

/** All items in a batch are of the same kind. */
export type Batch = { ready: Ready[]; gas: number };

/**
 * An upper bound on a transaction's gas, without the gas for its items. The tests compare the gas
 * limits with contracts/snapshots/gas.json.
 */
export const baseGas = 40_000;

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
export function countCalldataBytes(ready: Pick<Ready, "item"> & Act): number {
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
 * The approximate gas of a recovery of one token, without its calldata. The first recovery of an
 * unexecuted intent deploys the vault. Each figure is between the values `plain` and `USDC` of an
 * entry in contracts/snapshots/gas.json. The entry is "refund, expired" for `deploys`, and "late
 * sweep" for `isDeployed`.
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
