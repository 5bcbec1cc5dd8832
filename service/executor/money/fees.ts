// Computes the fees of a transaction: the EIP-1559 fee to offer per gas, and the fee per byte on OP
// Stack chains. These chains charge for bytes because they publish transactions on Ethereum. Other
// chains charge no fee per byte, or include the fee in the gas. This file defines the calls that
// request prices, but its functions do not send calls to endpoints.
//
// The fee oracle has the same address on all OP Stack chains. Since the Fjord upgrade, it returns
// an upper bound on the fee for a given size:
// https://specs.optimism.io/protocol/fjord/predeploys.html#gaspriceoracle

import type { Hex } from "executable-address";
import type { Chain } from "../../chain/chains.ts";
import { encodeViewCall } from "../../chain/rpc/chain-rpc.ts";
import { type Call, hexData, quantity } from "../../chain/rpc/json-rpc.ts";
import { middle, upperMiddle } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";

export type Fee = { maxFee: bigint; priorityFee: bigint };

/**
 * No fee exceeds `perGasMax`, regardless of the endpoints' answers. Transactions wait if they need
 * a higher fee. The priority fee never exceeds `priorityMax` or twice the base fee, whichever is
 * higher.
 */
export type FeePolicy = { perGasMax: bigint; priorityMin: bigint; priorityMax: bigint };

/** The highest fee per gas on a chain without a setting: 500 gwei. */
const perGasMaxDefault = 500_000_000_000n;
/**
 * The highest priority fee on a chain without a setting: 3 gwei, or twice the base fee if that is
 * more.
 */
const priorityMaxDefault = 3_000_000_000n;

export const feePolicyOf = ({
  maxFeePerGas,
  maxPriorityFeePerGas,
}: Pick<Chain, "maxFeePerGas" | "maxPriorityFeePerGas">): FeePolicy => ({
  perGasMax: maxFeePerGas ? BigInt(maxFeePerGas) : perGasMaxDefault,
  priorityMin: 1n,
  priorityMax: BigInt(maxPriorityFeePerGas ?? priorityMaxDefault),
});

/** Requests the median priority fee of each of the last ten blocks. */
export const feeHistoryCall: Call = { method: "eth_feeHistory", params: ["0xa", "latest", [50]] };

/**
 * Requests the gas price that a node suggests. Besu returns at least the lowest price that it
 * accepts. The price is requested because, on a chain without transactions, the blocks do not show
 * a price.
 */
export const gasPriceCall: Call = { method: "eth_gasPrice", params: [] };

/**
 * Returns the highest price that at least `quorum` endpoints require, or 0 if fewer endpoints
 * answer.
 */
export const findDemandedPrice = (prices: readonly bigint[], quorum: number): bigint =>
  prices.toSorted((a, b) => (a > b ? -1 : 1))[quorum - 1] ?? 0n;

/** Returns the median priority fee of the blocks with transactions; undefined if all are empty. */
export function parsePriorityFee(history: unknown): bigint | undefined {
  const { reward, gasUsedRatio } = history as { reward: unknown[][]; gasUsedRatio: number[] };
  const offered = reward.flatMap(([each], block) =>
    gasUsedRatio[block] === 0 ? [] : [quantity(each)],
  );
  return middle(offered);
}

/** Returns the base fee of the next block; undefined if the node omits it. */
export function parseNextBaseFee(history: unknown): bigint | undefined {
  const { baseFeePerGas } = history as { baseFeePerGas?: unknown[] };
  return baseFeePerGas?.length ? quantity(baseFeePerGas.at(-1)) : undefined;
}

/**
 * Returns the reported base fee of the next block, limited to what the protocol allows. In one
 * block, the base fee changes by at most an eighth.
 */
export const boundNextBaseFee = (baseFee: bigint, reported: bigint | undefined): bigint =>
  max(baseFee - baseFee / 8n, min(baseFee + baseFee / 8n + 1n, reported ?? baseFee));

/**
 * The limit on the priority fee, as a multiple of the base fee. This limit applies only if it is
 * higher than the policy's limit.
 */
const priorityFactor = 2n;

const priorityMaxAt = (baseFee: bigint, { priorityMax }: FeePolicy): bigint =>
  max(baseFee * priorityFactor, priorityMax);

/**
 * The offered fee, as a multiple of the base fee. Twice the base fee is enough for about six full
 * blocks, because each full block raises the base fee by an eighth.
 */
const baseFeeHeadroom = 2n;

/**
 * Returns the fee to offer, and the lowest fee per gas with which a transaction would be mined now.
 */
export function suggestFee(
  baseFee: bigint,
  requested: bigint,
  policy: FeePolicy,
): { fee: Fee; neededPerGas: bigint } {
  const priority = max(min(requested, priorityMaxAt(baseFee, policy)), policy.priorityMin);
  const maxFee = min(baseFee * baseFeeHeadroom + priority, policy.perGasMax);
  return { fee: { maxFee, priorityFee: min(priority, maxFee) }, neededPerGas: baseFee + priority };
}

/**
 * Returns the lowest fee with which nodes accept a replacement for a transaction with the fee
 * `old`, or the suggested fee if that is higher. Nodes accept a replacement only if it raises both
 * the maximum fee and the priority fee by a tenth (geth) or, at some nodes, by an eighth. A
 * replacement has the same limits as a first transaction, so nodes that drop transactions cannot
 * raise the fee above these limits.
 *
 * @returns undefined if the fee exceeds a limit
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

/** Returns the value plus 12.5%, rounded up, and at least the value plus one. */
function raised(value: bigint): bigint {
  return value + max((value + 7n) / 8n, 1n);
}

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

const oracle: Hex = "0x420000000000000000000000000000000000000f";
/**
 * The size in bytes for which the oracle is asked for its bound. The bound grows linearly with the
 * size, and its constant part is negligible at this size.
 */
const sampleSize = 100_000n;
/**
 * A margin, because the fee per byte can grow before the transaction is included. The margin is
 * sufficient until Ethereum's base fee doubles.
 */
const headroom = 2n;
/** The size of a signed transaction without its calldata, in bytes. */
const envelopeBytes = 200;

const boundOfFee = encodeViewCall(oracle, "getL1FeeUpperBound(uint256 unsignedTxSize)", [
  `${sampleSize}`,
]);

/**
 * Requests the oracle's upper bound on the fee.
 *
 * @param at a block, as a JSON-RPC parameter
 */
export const dataFeeCall = (at: unknown): Call => ({
  method: "eth_call",
  params: [boundOfFee, at],
});

/** Requests the fee for a transaction's bytes. On a chain without an oracle, the result is `0x`. */
export const dataFeeCallFor = (transaction: Hex): Call => ({
  method: "eth_call",
  params: [encodeViewCall(oracle, "getL1Fee(bytes data)", [transaction]), "latest"],
});

/** Returns an upper bound on the fee per byte in wei, or undefined if the chain has no oracle. */
export function parseDataFee(result: unknown): bigint | undefined {
  const bound = hexData(result);
  if (bound === "0x") return undefined;
  return (BigInt(bound) * headroom + sampleSize - 1n) / sampleSize;
}

/**
 * `perByte` is the last known upper bound on the fee per byte, in wei. `freeMs` is the last time at
 * which a quorum of endpoints answered and every answer was a fee of 0.
 */
export type DataFee = { perByte: bigint; freeMs: number };

export const unknownDataFee: DataFee = { perByte: 0n, freeMs: Number.NEGATIVE_INFINITY };

/**
 * After endpoints have reported a fee of 0, the executor assumes for this time that the chain has
 * no fee per byte.
 */
const freeMsMax = hourMs;

export const isFree = ({ freeMs }: DataFee, nowMs: number): boolean => nowMs - freeMs < freeMsMax;

/**
 * Returns the median of the endpoints' bounds, or the higher of two bounds. If fewer than `quorum`
 * endpoints answer, the bound can rise but not fall.
 */
export function mergeDataFees(
  known: DataFee,
  reported: readonly bigint[],
  { quorum, nowMs }: { quorum: number; nowMs: number },
): DataFee {
  const bound = upperMiddle(reported) ?? 0n;
  if (reported.length < quorum) {
    return { ...unknownDataFee, perByte: max(bound, known.perByte) };
  }
  const isNone = reported.every((each) => each === 0n);
  return { perByte: bound, freeMs: isNone ? nowMs : unknownDataFee.freeMs };
}

/** The size of a transaction: its gas limit, and the number of bytes of its calldata. */
export type Size = { gas: number; bytes: number };

/** Returns the highest possible cost of a transaction. All amounts are in wei. */
export const computeCost = ({ gas, bytes }: Size, perGas: bigint, perByte: bigint): bigint =>
  BigInt(gas) * perGas + BigInt(bytes + envelopeBytes) * perByte;

/** Returns the fee for bytes in a receipt, in wei; 0 if the receipt has no such field. */
export const dataFeePaid = ({ l1Fee }: Record<string, unknown>): bigint =>
  l1Fee === undefined || l1Fee === null ? 0n : quantity(l1Fee);
