// Reads the fee that an OP Stack chain takes for a transaction's bytes, beside its gas: they are
// published on Ethereum. Other chains take nothing, or count it as gas.
//
// Its oracle stands at one address on all such chains and bounds the fee by the size, since Fjord:
// https://specs.optimism.io/protocol/fjord/predeploys.html#gaspriceoracle

import type { Hex } from "executable-address";
import { encodeViewCall } from "../../chain/rpc/call-at.ts";
import { type Call, hexData, quantity } from "../../chain/rpc/json-rpc.ts";
import { upperMiddle } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";
import { max } from "./fees.ts";

const oracle: Hex = "0x420000000000000000000000000000000000000f";
/** The bound is linear in the size, but for a constant that counts for less the more is asked. */
const sizeAsked = 100_000n;
/** Ethereum's base fee may double until the transaction is included, as the chain's own may. */
const headroom = 2n;
/** A signed transaction has so many bytes besides its data; the bound adds some to every size. */
const envelopeBytes = 200;

const boundOfFee = encodeViewCall(oracle, "getL1FeeUpperBound(uint256 unsignedTxSize)", [
  `${sizeAsked}`,
]);

/** Asks at `at`, a block as JSON-RPC names it. */
export const dataFeeCall = (at: unknown): Call => ({
  method: "eth_call",
  params: [boundOfFee, at],
});

/** Asks for the fee of these bytes of a transaction, now. Without an oracle the answer is `0x`. */
export const dataFeeOfBytesCall = (transaction: Hex): Call => ({
  method: "eth_call",
  params: [encodeViewCall(oracle, "getL1Fee(bytes data)", [transaction]), "latest"],
});

/** @returns wei a byte at most; undefined where there is no such oracle */
export function dataFeeOf(result: unknown): bigint | undefined {
  const bound = hexData(result);
  if (bound === "0x") return undefined;
  return (BigInt(bound) * headroom + sizeAsked - 1n) / sizeAsked;
}

/**
 * The fee, as far as it is known, is at most `perByte` wei a byte. All endpoints that answered said
 * at `freeMs` that there is none.
 */
export type DataFee = { perByte: bigint; freeMs: number };

export const unknownDataFee: DataFee = { perByte: 0n, freeMs: Number.NEGATIVE_INFINITY };

/** A chain that takes none is asked again after so long. */
const freeMsMax = hourMs;

export const isFree = ({ freeMs }: DataFee, nowMs: number): boolean => nowMs - freeMs < freeMsMax;

/**
 * The greater of two endpoints' bounds counts, and of three the middle. Where fewer than `quorum`
 * answer, no bound is lowered on their word.
 */
export function weighDataFee(
  known: DataFee,
  said: readonly bigint[],
  { quorum, nowMs }: { quorum: number; nowMs: number },
): DataFee {
  const bound = upperMiddle(said) ?? 0n;
  if (said.length < quorum) {
    return { ...unknownDataFee, perByte: max(bound, known.perByte) };
  }
  const isNone = said.every((each) => each === 0n);
  return { perByte: bound, freeMs: isNone ? nowMs : unknownDataFee.freeMs };
}

/** `gas` it is given, `bytes` of calldata. */
export type Size = { gas: number; bytes: number };

/** Computes what a transaction costs at most, in wei; at `perGas` and `perByte` wei. */
export const costOf = ({ gas, bytes }: Size, perGas: bigint, perByte: bigint): bigint =>
  BigInt(gas) * perGas + BigInt(bytes + envelopeBytes) * perByte;

/** Reads from a receipt what was taken for the bytes; other chains have no such field. */
export const dataFeePaid = ({ l1Fee }: Record<string, unknown>): bigint =>
  l1Fee === undefined || l1Fee === null ? 0n : quantity(l1Fee);
