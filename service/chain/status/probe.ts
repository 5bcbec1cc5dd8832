// Reads the balances of many addresses at one block in one eth_call: contracts/reading/Probe.sol is
// sent as a creation that never happens.

import type { Hex } from "executable-address";
import type { BlockReference, Holding } from "executable-address/status";
import { probe } from "executable-address-contracts";
import { encodeDeployData, hexToBigInt, size, sliceHex } from "viem";
import { callAt } from "../rpc/call-at.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { type Answer, ChainUnavailable, hexData, resultOf } from "../rpc/json-rpc.ts";

/** A question for the balances of `vault` in `token` and in the native coin. */
export type Holder = { vault: Hex; token: Hex };

/** Chain id, time, and where and how many the holdings are. */
const headBytes = 128;
const holdingBytes = 128;

/**
 * A creation's answer has the bounds of code, 24,576 bytes at 200 gas each: 191 holders. With
 * proxied tokens this is 7 million gas, where nodes give a call 25 million and more.
 */
export const holdersMax = 150;

/**
 * The holdings of `holders`, in their order, at `block` by its hash: a node that has another block
 * there refuses.
 *
 * @throws {ChainUnavailable} when the node serves another chain or answers from another block
 */
export async function probeHoldings(
  chain: { chainId: number; rpc: ChainRpc },
  block: BlockReference,
  holders: Holder[],
): Promise<Holding[]> {
  const groups: Holder[][] = [];
  for (let i = 0; i < holders.length; i += holdersMax) {
    groups.push(holders.slice(i, i + holdersMax));
  }
  return (await Promise.all(groups.map((group) => probeGroup(chain, block, group)))).flat();
}

async function probeGroup(
  { chainId, rpc }: { chainId: number; rpc: ChainRpc },
  block: BlockReference,
  holders: Holder[],
): Promise<Holding[]> {
  const answer = await callAt(rpc, block, { data: probeData(holders) });
  return holdingsIn(answer, { chainId, timestamp: block.timestamp, count: holders.length });
}

/**
 * The question for at most {@link holdersMax} at a block, for callers that choose the endpoints.
 *
 * @param at the block as JSON-RPC names it, whose time is `timestamp`
 */
export function askHoldings(
  holders: readonly Holder[],
  { chainId, timestamp, at }: { chainId: number; timestamp: number; at: unknown },
) {
  const wanted = { chainId, timestamp, count: holders.length };
  /** @throws {ChainUnavailable} as {@link holdingsIn} */
  const read = (answer: Answer) => holdingsIn(hexData(resultOf(answer)), wanted);
  return {
    call: { method: "eth_call", params: [{ data: probeData(holders) }, at] },
    read,
    isReadable(answer: Answer): boolean {
      try {
        read(answer);
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** Init code that asks for at most {@link holdersMax}: to be called, without a `to`. */
export function probeData(holders: readonly Holder[]): Hex {
  const args = [holders.map(({ vault, token }) => ({ owner: vault, token }))] as const;
  return encodeDeployData({ abi: probe.abi, bytecode: probe.bytecode, args });
}

/** @throws {ChainUnavailable} unless it is the answer for so many, at that chain and time */
function holdingsIn(
  answer: Hex,
  { chainId, timestamp, count }: { chainId: number; timestamp: number; count: number },
): Holding[] {
  if (size(answer) !== headBytes + holdingBytes * count) {
    throw new ChainUnavailable(`the probe answered ${size(answer)} bytes`);
  }
  const word = (at: number) => hexToBigInt(sliceHex(answer, at, at + 32));
  const found = { chainId: Number(word(0)), timestamp: Number(word(32)) };
  if (found.chainId !== chainId) {
    throw new ChainUnavailable(`wanted a node of chain ${chainId}, found ${found.chainId}`);
  }
  if (found.timestamp !== timestamp) {
    throw new ChainUnavailable(`wanted time ${timestamp}, found ${found.timestamp}`);
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
