// Reads a key's balance and the current fees, and computes the costs that the key can pay.

import type { Hex } from "executable-address";
import { size } from "viem/utils";
import { transactionGasMin } from "../../chain/gas-limits.ts";
import { ChainUnavailable, quantity } from "../../chain/rpc/json-rpc.ts";
import { listAnswers, readAnswers } from "../../chain/rpc/view.ts";
import { lowerMedian, max, upperMedian } from "../../flow/numbers.ts";
import type { Purpose } from "../ledger/purposes.ts";
import {
  boundNextBaseFee,
  computeCost,
  type DataFee,
  dataFeeCall,
  type Fee,
  feeHistoryCall,
  findDemandedPrice,
  gasPriceCall,
  isFree,
  mergeDataFees,
  parseDataFee,
  parseNextBaseFee,
  parsePriorityFee,
  type Size,
  suggestFee,
  unknownDataFee,
} from "../money/fees.ts";
import type { Pass } from "../pass.ts";

export type PurseMemory = {
  prices: {
    dataFee: DataFee;
    /** A purpose ID is added when enough endpoints have rejected its transaction as too cheap. */
    underpriced: Set<string>;
  };
};

export const openPurseMemory = (): PurseMemory => ({
  prices: { dataFee: unknownDataFee, underpriced: new Set() },
});

/** A key's balance, and the current costs of a transaction, in wei. */
export type Purse = {
  suggested: Fee;
  /** The lowest fee per gas that is sufficient now. */
  neededPerGas: bigint;
  /** The base fee per gas of the next block. */
  nextBaseFee: bigint;
  /** The maximum fee for a byte of calldata. */
  perByte: bigint;
  /** The median of the reported balances, or the higher of two balances. */
  balance: bigint;
  /** The median of the reported balances, or the lower of two balances. */
  balanceSure: bigint;
  /** The highest possible cost of the key's transactions that are not mined yet. */
  reserved: bigint;
};

/** Reserves `wei` for a transaction that the key has just sent, or that a dry run plans. */
export function reserve(purse: Purse, wei: bigint): void {
  purse.reserved += wei;
}

/**
 * Reads a key's balance and the current costs. If endpoints report different balances, `balance` is
 * the upper median, and `balanceSure` is the lower median. `balance` decides whether the key can
 * send. A balance that is too high does no harm, because a rejected transaction costs nothing. If
 * any key has a high enough `balanceSure`, only such keys send. Operators see `balanceSure`.
 *
 * Keeps the fee per byte in `memory.prices` for the next reads (money/fees.ts).
 */
export async function readPurse(
  pass: Pass<PurseMemory>,
  unmined: readonly Purpose[],
): Promise<Purse> {
  const { parts, memory, view, signer } = pass;
  const nowMs = parts.clock();
  // The gas price is requested only while enough endpoints reject a transaction as too cheap.
  const isTooCheap = memory.prices.underpriced.size > 0;
  const calls = [
    { method: "eth_getBalance", params: [signer.address, view.at] },
    feeHistoryCall,
    ...(isFree(memory.prices.dataFee, nowMs) ? [] : [dataFeeCall(view.at)]),
    ...(isTooCheap ? [gasPriceCall] : []),
  ];
  const lists = await view.readEach(calls);
  const balances = readAnswers(lists, 0, quantity);
  const [balance, balanceSure] = [upperMedian(balances), lowerMedian(balances)];
  if (balance === undefined || balanceSure === undefined) {
    const found = lists.map((list) => list && JSON.stringify(list[0])?.slice(0, 100));
    throw new ChainUnavailable(
      `expected the balance of ${signer.address} at block ${view.head.number}, found ` +
        listAnswers(view, found),
    );
  }
  const { baseFee } = view.head;
  const prices = isTooCheap ? readAnswers(lists, calls.length - 1, quantity) : [];
  const demanded = findDemandedPrice(prices, view.quorum) - baseFee;
  const priority = max(demanded, lowerMedian(readAnswers(lists, 1, parsePriorityFee)) ?? 0n);
  const { fee, neededPerGas } = suggestFee(baseFee, priority, parts.chain.fees);
  const nextBaseFee = boundNextBaseFee(
    baseFee,
    lowerMedian(readAnswers(lists, 1, parseNextBaseFee)),
  );
  if (!isFree(memory.prices.dataFee, nowMs)) {
    const bounds = readAnswers(lists, 2, (result) => parseDataFee(result) ?? 0n);
    memory.prices.dataFee = mergeDataFees(memory.prices.dataFee, bounds, {
      quorum: view.quorum,
      nowMs,
    });
  }
  const { perByte } = memory.prices.dataFee;
  return {
    suggested: fee,
    neededPerGas,
    nextBaseFee,
    perByte,
    balance,
    balanceSure,
    reserved: unmined.reduce((sum, purpose) => sum + computeCostMax(purpose, perByte), 0n),
  };
}

/** Returns the fee for one byte of calldata, in gas. */
export const computeGasPerByte = ({ perByte, suggested }: Purse): number =>
  suggested.maxFee === 0n ? 0 : Number(perByte) / Number(suggested.maxFee);

export type Sized = { gas: number; data: Hex };
export const measureSize = ({ gas, data }: Sized) => ({ gas, bytes: size(data) });

/**
 * A zero-value transfer from a key to itself. It fills a nonce gap, or replaces a useless
 * transaction. It also replaces a transaction if a higher fee for the transaction would exceed a
 * budget.
 */
export const zeroValueTransfer = { data: "0x", gas: transactionGasMin } as const;

/**
 * Returns the highest possible cost of the transactions with one nonce, in wei. Only one of these
 * transactions can be mined.
 *
 * @param perByte the current fee for a byte
 */
export function computeCostMax({ transactions, ...purpose }: Purpose, perByte: bigint): bigint {
  const costs = transactions.map(({ isZeroValueTransfer, fee }) =>
    computeCost(
      measureSize(isZeroValueTransfer ? zeroValueTransfer : purpose),
      fee.maxFee,
      perByte,
    ),
  );
  return costs.reduce(max, 0n);
}

/**
 * Returns whether the balance pays for another transaction, even if a replacement doubles its cost.
 */
export function canAfford({ balance, reserved, suggested, perByte }: Purse, size: Size): boolean {
  return balance >= reserved + 2n * computeCost(size, suggested.maxFee, perByte);
}

/** Does the same as {@link canAfford}, but uses the lower of two reported balances. */
export const surelyAffords = (purse: Purse, size: Size): boolean =>
  canAfford({ ...purse, balance: purse.balanceSure }, size);
