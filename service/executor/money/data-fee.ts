// Computes a transaction's fee per byte on OP Stack chains, which publish their transactions on
// Ethereum. Other chains have no fee per byte, or include it in the gas. The functions in this file
// send no requests.
//
// The fee oracle has the same address on all OP Stack chains. Since the Fjord upgrade, the oracle
// returns an upper bound on the fee for a transaction size:
// https://specs.optimism.io/protocol/fjord/predeploys.html#gaspriceoracle

import type { Hex } from "executable-address";
import { encodeViewCall } from "../../chain/rpc/chain-rpc.ts";
import { type Call, hexData, quantity } from "../../chain/rpc/json-rpc.ts";
import { hourMs } from "../../flow/days.ts";
import { max, upperMedian } from "../../flow/numbers.ts";

const oracle: Hex = "0x420000000000000000000000000000000000000f";
/**
 * The executor asks the oracle for the fee of a transaction of this size, in bytes. The oracle's
 * fee grows linearly with the size. At this size, the fee's constant part is negligible.
 */
const sampleSize = 100_000n;
/** A safety margin: the fee per byte can double before the transaction is mined. */
const headroom = 2n;

const boundOfFee = encodeViewCall(oracle, "getL1FeeUpperBound(uint256 unsignedTxSize)", [
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
  params: [encodeViewCall(oracle, "getL1Fee(bytes data)", [transaction]), "latest"],
});

/** Returns an upper bound on the fee per byte in wei; undefined without an oracle. */
export function parseDataFee(result: unknown): bigint | undefined {
  const bound = hexData(result);
  if (bound === "0x") return undefined;
  return (BigInt(bound) * headroom + sampleSize - 1n) / sampleSize;
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
