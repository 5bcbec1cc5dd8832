// Reads balances before and after one call, with one eth_call: contracts/reading/Meter.sol is sent
// as a creation that never happens.

import type { Hex } from "executable-address";
import { meter } from "executable-address-contracts";
import { decodeAbiParameters, encodeDeployData, parseAbiParameters } from "viem/utils";
import { ChainUnavailable } from "../rpc/json-rpc.ts";

/** `token`: the zero address means the native coin. */
export type Pair = { account: Hex; token: Hex };

/** The balance of a pair; undefined if the token did not return a word. */
type Balance = bigint | undefined;

export type Measured = {
  chainId: number;
  /** The time of the block, in Unix seconds. */
  timestamp: number;
  /** The gas left when the call started. */
  gas: bigint;
  succeeded: boolean;
  /** The first 512 bytes that the call returned or reverted with. */
  answer: Hex;
  /** One value per pair, in their order. */
  before: Balance[];
  after: Balance[];
};

/**
 * A creation can return at most 24,576 bytes, and the balances must fit a node's gas: 10 million.
 */
export const pairsMax = 100;
/** EIP-7825 limits a transaction to 2^24. Nodes give an eth_call 30 million or more. */
export const callGas = 15_000_000;
/** Meter.sol encodes {@link Measured} like this, in this order. */
const measured = parseAbiParameters([
  "uint256, uint256, uint256, bool, bytes, Balance[], Balance[]",
  "struct Balance { bool known; uint256 amount; }",
]);

/**
 * @param pairs at most {@link pairsMax}
 * @param gasMax of the call
 * @returns code that calls `target` with `data` and returns what {@link parseMeter} reads
 */
export function meterCode(
  pairs: readonly Pair[],
  target: Hex,
  data: Hex,
  gasMax: number = callGas,
): Hex {
  const holders = pairs.map(({ account, token }) => ({ owner: account, token }));
  const args = [target, data, BigInt(gasMax), holders] as const;
  return encodeDeployData({ abi: meter.abi, bytecode: meter.bytecode, args });
}

/**
 * @param count of the pairs
 * @throws {ChainUnavailable} if the answer does not have the form of {@link meterCode}'s
 */
export function parseMeter(answered: Hex, count: number): Measured {
  const found = decode(answered);
  if (found?.[5].length !== count || found[6].length !== count) {
    const wanted = `balances of ${count} pairs`;
    throw new ChainUnavailable(`expected ${wanted} of the meter, found ${answered.slice(0, 80)}`);
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
