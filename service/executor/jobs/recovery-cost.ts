// Computes what it takes to return an address's money: the gas that its transaction is given, and
// before that is known an approximate cost, which decides whether the money is worth it.

import { fromHex } from "executable-address";
import { size } from "viem/utils";
import { costOf } from "../money/data-fee.ts";
import type { Purse } from "../transactions/send.ts";
import { itemCalldataBytes } from "./batch.ts";
import type { Transfer } from "./estimate.ts";
import type { Examined } from "./examine.ts";

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
export function recoverGas(item: Examined, transfers: readonly Transfer[]): number {
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
