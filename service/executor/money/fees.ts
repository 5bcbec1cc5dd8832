// Computes what a transaction costs: the EIP-1559 fee to offer per gas, and the fee that an OP
// Stack chain takes per byte because it publishes transactions on Ethereum. Other chains take no
// fee per byte, or count it as gas. Pure, apart from the calls that ask for prices.
//
// The OP Stack's oracle has the same address on all its chains and bounds the fee by size since
// Fjord: https://specs.optimism.io/protocol/fjord/predeploys.html#gaspriceoracle

import type { Hex } from "executable-address";
import { encodeViewCall } from "../../chain/rpc/call-at.ts";
import { type Call, hexData, quantity } from "../../chain/rpc/json-rpc.ts";
import { middle, upperMiddle } from "../../chain/rpc/view.ts";
import { hourMs } from "../../flow/days.ts";

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
