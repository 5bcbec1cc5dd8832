// Decides what to offer for a transaction, EIP-1559. All amounts are in wei per gas.

import { type Call, quantity } from "../../chain/rpc/json-rpc.ts";
import { middle } from "../../chain/rpc/view.ts";

export type Fee = { maxFee: bigint; priorityFee: bigint };

/**
 * `perGasMax` is never exceeded, whatever it delays. `priorityMax`: no more priority fee is offered
 * than so much or twice the base fee, whatever endpoints say.
 */
export type FeePolicy = { perGasMax: bigint; priorityMin: bigint; priorityMax: bigint };

/** Asks what transactions of the last ten blocks offered: the middle offer of each block. */
export const feeHistoryCall: Call = { method: "eth_feeHistory", params: ["0xa", "latest", [50]] };

/**
 * Asks for the price at which a node would send now. Besu answers with at least the minimum price
 * that it accepts, which no block shows on a chain without transactions.
 */
export const gasPriceCall: Call = { method: "eth_gasPrice", params: [] };

/** Returns the highest price that at least `quorum` endpoints demand, or 0 if fewer answer. */
export const priceDemanded = (prices: readonly bigint[], quorum: number): bigint =>
  prices.toSorted((a, b) => (a > b ? -1 : 1))[quorum - 1] ?? 0n;

/** The middle of the blocks that hold transactions. @returns undefined where none does */
export function priorityAsked(history: unknown): bigint | undefined {
  const { reward, gasUsedRatio } = history as { reward: unknown[][]; gasUsedRatio: number[] };
  const offered = reward.flatMap(([each], block) =>
    gasUsedRatio[block] === 0 ? [] : [quantity(each)],
  );
  return middle(offered);
}

/** The base fee of the block after the newest. @returns undefined where the node leaves it out */
export function baseFeeAfter(history: unknown): bigint | undefined {
  const { baseFeePerGas } = history as { baseFeePerGas?: unknown[] };
  return baseFeePerGas?.length ? quantity(baseFeePerGas.at(-1)) : undefined;
}

/** A block's base fee differs from its parent's by an eighth at most: no endpoint makes it more. */
export const nextBaseFeeOf = (baseFee: bigint, said: bigint | undefined): bigint =>
  max(baseFee - baseFee / 8n, min(baseFee + baseFee / 8n + 1n, said ?? baseFee));

/** No more priority fee is offered than so many times the base fee, or the policy's most. */
const priorityFactor = 2n;

const priorityMaxAt = (baseFee: bigint, { priorityMax }: FeePolicy): bigint =>
  max(baseFee * priorityFactor, priorityMax);

/** Twice the base fee outlasts six full blocks, each of which raises it by an eighth. */
const baseFeeHeadroom = 2n;

/** @returns the offer, and what it takes now at least: over the cap, the transaction must wait */
export function suggestFee(
  baseFee: bigint,
  asked: bigint,
  policy: FeePolicy,
): { fee: Fee; neededPerGas: bigint } {
  const priority = max(min(asked, priorityMaxAt(baseFee, policy)), policy.priorityMin);
  const maxFee = min(baseFee * baseFeeHeadroom + priority, policy.perGasMax);
  return { fee: { maxFee, priorityFee: min(priority, maxFee) }, neededPerGas: baseFee + priority };
}

/**
 * The least that may take the place of `old` at its nonce, or what is asked now if that is more.
 * Nodes refuse a replacement that does not raise both fields by a tenth (geth) or an eighth. One
 * who drops transactions to be offered more gets no more than a first send may offer.
 *
 * @returns undefined where that is over a cap
 */
export function bumpFee(
  old: Fee,
  suggested: Fee,
  baseFee: bigint,
  policy: FeePolicy,
): Fee | undefined {
  const maxFee = max(raised(old.maxFee), suggested.maxFee);
  const priorityFee = max(raised(old.priorityFee), suggested.priorityFee);
  if (maxFee > policy.perGasMax || priorityFee > priorityMaxAt(baseFee, policy)) return undefined;
  return { maxFee, priorityFee: min(priorityFee, maxFee) };
}

/** 12.5 % more, rounded up, and by one at least. */
function raised(value: bigint): bigint {
  return value + max((value + 7n) / 8n, 1n);
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
