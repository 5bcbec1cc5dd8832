// Computes the maximum cost of a transaction: its EIP-1559 fee per gas, and its fee per byte on OP
// Stack chains, which publish their transactions on Ethereum. Other chains have no fee per byte, or
// include it in the gas. The functions in this file send no requests.
//
// The oracle of the fee per byte has the same address on all OP Stack chains. Since the Fjord
// upgrade, the oracle returns an upper bound on the fee for a transaction size:
// https://specs.optimism.io/protocol/fjord/predeploys.html#gaspriceoracle

import type { Hex } from "executable-address";
import type { Chain } from "../../chain/chains.ts";
import { encodeViewCall } from "../../chain/rpc/chain-rpc.ts";
import { type Call, hexData, quantity } from "../../chain/rpc/json-rpc.ts";
import { hourMs } from "../../flow/days.ts";
import { lowerMedian, max, min, upperMedian } from "../../flow/numbers.ts";

export type Fee = { maxFee: bigint; priorityFee: bigint };

/**
 * `perGasMax` limits every fee, even if the endpoints suggest a higher fee. A transaction that
 * needs a higher fee has to wait. The priority fee is limited to `priorityMax` or twice the base
 * fee, whichever is higher.
 */
export type FeePolicy = { perGasMax: bigint; priorityMin: bigint; priorityMax: bigint };

/** The default limit on the fee per gas: 500 gwei. */
const perGasMaxDefault = 500_000_000_000n;
/** The default limit on the priority fee: 3 gwei. `priorityFactor` can raise the limit. */
const priorityMaxDefault = 3_000_000_000n;

export const feePolicyOf = ({
  maxFeePerGas,
  maxPriorityFeePerGas,
}: Pick<Chain, "maxFeePerGas" | "maxPriorityFeePerGas">): FeePolicy => ({
  perGasMax: maxFeePerGas ? BigInt(maxFeePerGas) : perGasMaxDefault,
  priorityMin: 1n,
  priorityMax: BigInt(maxPriorityFeePerGas ?? priorityMaxDefault),
});

/** Requests the median priority fee for each of the last ten blocks. */
export const feeHistoryCall: Call = { method: "eth_feeHistory", params: ["0xa", "latest", [50]] };

/**
 * Requests the gas price that a node suggests, because blocks without transactions show no price.
 * Besu suggests at least its minimum price.
 */
export const gasPriceCall: Call = { method: "eth_gasPrice", params: [] };

/**
 * Returns the highest price that at least `quorum` endpoints require, or 0 if fewer endpoints
 * answered.
 */
export const findDemandedPrice = (prices: readonly bigint[], quorum: number): bigint =>
  prices.toSorted((a, b) => (a > b ? -1 : 1))[quorum - 1] ?? 0n;

/** Returns the median priority fee of the blocks with transactions; undefined if all are empty. */
export function parsePriorityFee(history: unknown): bigint | undefined {
  const { reward, gasUsedRatio } = history as { reward: unknown[][]; gasUsedRatio: number[] };
  const offered = reward.flatMap(([each], block) =>
    gasUsedRatio[block] === 0 ? [] : [quantity(each)],
  );
  return lowerMedian(offered);
}

/** Returns the base fee of the next block; undefined if it is missing. */
export function parseNextBaseFee(history: unknown): bigint | undefined {
  const { baseFeePerGas } = history as { baseFeePerGas?: unknown[] };
  return baseFeePerGas?.length ? quantity(baseFeePerGas.at(-1)) : undefined;
}

/**
 * Limits the reported base fee of the next block. A base fee can change by at most an eighth per
 * block.
 */
export const boundNextBaseFee = (baseFee: bigint, reported: bigint | undefined): bigint =>
  max(baseFee - baseFee / 8n, min(baseFee + baseFee / 8n + 1n, reported ?? baseFee));

/**
 * The limit on the priority fee is at least this multiple of the base fee, even if `priorityMax` is
 * lower.
 */
const priorityFactor = 2n;

const priorityMaxAt = (baseFee: bigint, { priorityMax }: FeePolicy): bigint =>
  max(baseFee * priorityFactor, priorityMax);

/**
 * The offered fee includes twice the base fee. The offer remains sufficient for about six full
 * blocks, because each full block raises the base fee by an eighth.
 */
const baseFeeHeadroom = 2n;

/** Returns the fee to offer, and the lowest fee per gas that is sufficient now. */
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
 * Returns the lowest fee at which nodes accept a replacement for a transaction with the fee `old`.
 * If the suggested fee is higher, returns the suggested fee. Replacements must raise both fee
 * fields by a tenth (geth) or an eighth (some nodes). The limits in `policy` apply to replacements
 * too. Otherwise, nodes that drop transactions could make the executor raise its fee without limit.
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

/** Adds 12.5 %, rounded up, but at least one wei. */
function raised(value: bigint): bigint {
  return value + max((value + 7n) / 8n, 1n);
}

/** The size of a signed transaction without its calldata, in bytes. */
const envelopeBytes = 200;

/** The gas limit of a transaction, and the number of bytes in its calldata. */
export type Size = { gas: number; bytes: number };

/** Returns the highest possible cost of a transaction. All amounts are in wei. */
export const computeCost = ({ gas, bytes }: Size, perGas: bigint, perByte: bigint): bigint =>
  BigInt(gas) * perGas + BigInt(bytes + envelopeBytes) * perByte;

const dataFeeOracle: Hex = "0x420000000000000000000000000000000000000f";
/**
 * The executor asks the oracle for the fee of a transaction of this size, in bytes. The oracle's
 * fee grows linearly with the size. At this size, the fee's constant part is negligible.
 */
const sampleSize = 100_000n;
/** A safety margin: the fee per byte can double before the transaction is mined. */
const dataFeeHeadroom = 2n;

const boundOfFee = encodeViewCall(dataFeeOracle, "getL1FeeUpperBound(uint256 unsignedTxSize)", [
  `${sampleSize}`,
]);

/**
 * Requests the oracle's upper bound on the fee.
 *
 * @param block a number or tag, as a JSON-RPC parameter
 */
export const dataFeeCall = (block: unknown): Call => ({
  method: "eth_call",
  params: [boundOfFee, block],
});

/** Requests the fee for a transaction's bytes. On a chain without an oracle, the result is `0x`. */
export const dataFeeCallFor = (transaction: Hex): Call => ({
  method: "eth_call",
  params: [encodeViewCall(dataFeeOracle, "getL1Fee(bytes data)", [transaction]), "latest"],
});

/** Returns an upper bound on the fee per byte in wei; undefined without an oracle. */
export function parseDataFee(result: unknown): bigint | undefined {
  const bound = hexData(result);
  if (bound === "0x") return undefined;
  return (BigInt(bound) * dataFeeHeadroom + sampleSize - 1n) / sampleSize;
}

/**
 * `perByte` is an upper bound on the fee per byte in wei. `freeMs` is the last time at which a
 * quorum of endpoints answered and every answer was 0.
 */
export type DataFee = { perByte: bigint; freeMs: number };

export const unknownDataFee: DataFee = { perByte: 0n, freeMs: Number.NEGATIVE_INFINITY };

/** If all answers were 0, the fee per byte is not requested again for this time. */
const freeMsMax = hourMs;

export const isFree = ({ freeMs }: DataFee, nowMs: number): boolean => nowMs - freeMs < freeMsMax;

/**
 * Returns the median of the endpoints' fees, or the higher of two middle fees. If fewer than
 * `quorum` endpoints answered, the fee can rise but not fall.
 */
export function mergeDataFees(
  known: DataFee,
  reported: readonly bigint[],
  { quorum, nowMs }: { quorum: number; nowMs: number },
): DataFee {
  const bound = upperMedian(reported) ?? 0n;
  if (reported.length < quorum) {
    return { ...unknownDataFee, perByte: max(bound, known.perByte) };
  }
  const isNone = reported.every((each) => each === 0n);
  return { perByte: bound, freeMs: isNone ? nowMs : unknownDataFee.freeMs };
}

/** Returns a receipt's data fee in wei; 0 if the field is missing. */
export const dataFeePaid = ({ l1Fee }: Record<string, unknown>): bigint =>
  l1Fee === undefined || l1Fee === null ? 0n : quantity(l1Fee);
