// Reads the balances of many addresses at one block with one eth_call. The eth_call runs
// contracts/reading/Probe.sol as init code and creates no contract. On some chains, the native coin
// is also a token. The token balance is then the same money as the native balance, so only the
// token balance counts.

import type { Hex } from "executable-address";
import { type Holding, isNativeToken, withoutCoinParams } from "executable-address/status";
import { probe } from "executable-address-contracts";
import { encodeDeployData, hexToBigInt, size, sliceHex } from "viem/utils";
import { groupsOf } from "../../flow/groups.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { min } from "../../flow/numbers.ts";
import type { AtBlock } from "../rpc/chain-rpc.ts";
import { type Answer, ChainUnavailable, hexData, resultOf } from "../rpc/json-rpc.ts";

/** An address (`vault`) whose balances in `token` and in native coin are read. */
export type VaultToken = { vault: Hex; token: Hex };

/**
 * The size of the fields before the list of balances. These fields are the chain ID, the time, and
 * the list's offset and length.
 */
const headBytes = 128;
const holdingBytes = 128;

/**
 * The maximum number of pairs per call. The call runs init code, whose result costs 200 gas per
 * byte and has at most 24,576 bytes. This is enough for 191 pairs. With proxied tokens, a call
 * takes 7 million gas. Nodes allow at least 25 million gas.
 */
export const pairsPerCallMax = 150;

/** After a failed read of `failedSize` pairs, returns the number of pairs for the next read. */
export const fewerPairs = (size: number, failedSize: number): number =>
  Math.max(1, Math.floor(Math.min(size, failedSize) / 4));

/** After a successful read, returns the number of pairs for the next read. */
export const morePairs = (size: number, sizeMax: number): number => Math.min(sizeMax, size * 2);

/**
 * Returns the balances of `pairs` in order, for each endpoint that was called.
 *
 * @param perCallMax the number of pairs per call, at most {@link pairsPerCallMax}
 * @throws {ChainUnavailable} if a node answers for another chain or block
 */
export async function readHoldings(
  { chainId, timestamp, ask }: AtBlock,
  pairs: readonly VaultToken[],
  perCallMax = pairsPerCallMax,
): Promise<Holding[][]> {
  const groups = [...groupsOf(pairs, perCallMax)];
  const read = (answer: Answer, index: number) =>
    holdingsIn(hexData(resultOf(answer, "eth_call")), {
      chainId,
      timestamp,
      count: groups[index]!.length,
    });
  const isReadable = (answer: Answer, index: number) => {
    try {
      return Boolean(read(answer, index));
    } catch {
      return false;
    }
  };
  const questions = groups.map((group) => (at: unknown) => ({
    method: "eth_call",
    params: [{ data: probeData(group) }, at],
  }));
  return (await ask(questions, isReadable)).map((answers) => answers.flatMap(read));
}

/**
 * Returns init code that reads the balances of at most {@link pairsPerCallMax} pairs. Pass the
 * init code as the `data` of an eth_call without `to`.
 */
export function probeData(pairs: readonly VaultToken[]): Hex {
  const args = [pairs.map(({ vault, token }) => ({ owner: vault, token }))] as const;
  return encodeDeployData({ abi: probe.abi, bytecode: probe.bytecode, args });
}

/** @throws {ChainUnavailable} if the number of balances, the chain, or the block is wrong */
function holdingsIn(
  answer: Hex,
  { chainId, timestamp, count }: { chainId: number; timestamp: number; count: number },
): Holding[] {
  const bytes = headBytes + holdingBytes * count;
  if (size(answer) !== bytes) {
    throw new ChainUnavailable(
      `chain ${chainId}: expected ${bytes} bytes from the status probe, found ${size(answer)}`,
    );
  }
  const word = (at: number) => hexToBigInt(sliceHex(answer, at, at + 32));
  const found = { chainId: Number(word(0)), timestamp: Number(word(32)) };
  if (found.chainId !== chainId) {
    throw new ChainUnavailable(`expected a node of chain ${chainId}, found ${found.chainId}`);
  }
  if (found.timestamp !== timestamp) {
    throw new ChainUnavailable(
      `chain ${chainId}: expected a block with the timestamp ${timestamp}, found ` +
        found.timestamp,
    );
  }
  return Array.from({ length: count }, (_, index) => {
    const at = headBytes + holdingBytes * index;
    return {
      codeBytes: Number(word(at)),
      native: word(at + 32),
      balance: word(at + 64) === 1n ? word(at + 96) : undefined,
    };
  });
}

/**
 * Maps the lowercase address of a token to whether the token is the native coin. Only tested tokens
 * have an entry.
 */
export type NativeTokens = Map<Hex, boolean>;

/**
 * Returns `holdings`, with a native balance of zero if the token is the native coin. Tests each
 * untested token if an address has a balance in both the token and the native coin. Stores the
 * result in `known`. The test needs state overrides. If the node does not support state overrides,
 * both balances are kept.
 */
export async function countOnce(
  { ask }: AtBlock,
  known: NativeTokens,
  pairs: readonly VaultToken[],
  holdings: readonly Holding[],
): Promise<Holding[]> {
  const keys = pairs.map(({ token }) => lowerAddress(token));
  const open = new Map<Hex, { vault: Hex; balance: bigint }>();
  holdings.forEach(({ native, balance }, index) => {
    if (native === 0n || !balance || known.has(keys[index]!)) return;
    open.set(keys[index]!, { vault: pairs[index]!.vault, balance });
  });
  const questions = [...open].map(([token, { vault }]) => (at: unknown) => ({
    method: "eth_call",
    params: withoutCoinParams(token, vault, at),
  }));
  const [answers] = await ask(questions, () => true);
  [...open].forEach(([token, { balance }], index) => {
    const answer = answers![index]!;
    if ("result" in answer) known.set(token, isNativeToken(balance, answer.result));
  });
  return holdings.map((holding, index) =>
    holding.balance && known.get(keys[index]!) ? { ...holding, native: 0n } : holding,
  );
}

/**
 * Returns the native balance of one address. `holdings` is the result of {@link countOnce} for this
 * address.
 */
export const coinOf = (holdings: readonly Holding[]): bigint =>
  holdings.map(({ native }) => native).reduce(min);
