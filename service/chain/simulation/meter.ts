// Balances before and after one call, in one eth_call: contracts/reading/Meter.sol, sent as a
// creation that never happens.

import type { Hex } from "executable-address";
import { meter } from "executable-address-contracts";
import { decodeAbiParameters, encodeDeployData, parseAbiParameters } from "viem/utils";
import { ChainUnavailable } from "../rpc/json-rpc.ts";

/** `token`: the zero address asks for the native coin. */
export type Pair = { account: Hex; token: Hex };

/** The balance of a pair; undefined where the token did not answer with a word. */
type Balance = bigint | undefined;

export type Measured = {
  chainId: number;
  /** The time of the block it ran in, Unix seconds. */
  timestamp: number;
  /** The gas left when the call began. */
  gas: bigint;
  succeeded: boolean;
  /** The first 512 bytes of what the call returned, or reverted with. */
  answer: Hex;
  /** One for each pair, in their order. */
  before: Balance[];
  after: Balance[];
};

/** A creation answers at most 24,576 bytes, and the balances must fit a node's gas: 10 million. */
export const pairsMax = 100;
/** A transaction has at most 2^24 since EIP-7825; nodes give an eth_call 30 million and more. */
export const callGas = 15_000_000;
/** Meter.sol encodes {@link Measured} so, in that order. */
const measured = parseAbiParameters([
  "uint256, uint256, uint256, bool, bytes, Balance[], Balance[]",
  "struct Balance { bool known; uint256 amount; }",
]);

/**
 * @param pairs at most {@link pairsMax}
 * @returns code that calls `target` with `data` and answers what {@link parseMeter} reads
 */
export function meterCode(pairs: readonly Pair[], target: Hex, data: Hex): Hex {
  const holders = pairs.map(({ account, token }) => ({ owner: account, token }));
  const args = [target, data, BigInt(callGas), holders] as const;
  return encodeDeployData({ abi: meter.abi, bytecode: meter.bytecode, args });
}

/**
 * @param count of the pairs
 * @throws {ChainUnavailable} when it is not what {@link meterCode} answers
 */
export function parseMeter(answered: Hex, count: number): Measured {
  const found = decode(answered);
  if (found?.[5].length !== count || found[6].length !== count) {
    const wanted = `balances of ${count} pairs`;
    throw new ChainUnavailable(`wanted ${wanted} of the meter, found ${answered.slice(0, 80)}`);
  }
  const [chainId, timestamp, gas, succeeded, answer, before, after] = found;
  return {
    ...{ chainId: Number(chainId), timestamp: Number(timestamp) },
    ...{ gas, succeeded, answer },
    before: before.map(balanceOf),
    after: after.map(balanceOf),
  };
}

function decode(answered: Hex) {
  try {
    return decodeAbiParameters(measured, answered);
  } catch {
    return undefined;
  }
}

const balanceOf = ({ known, amount }: { known: boolean; amount: bigint }): Balance =>
  known ? amount : undefined;
