// Finds which balances an execution may change, by the logs of an eth_simulateV1 of it. The logs
// only say where to read a balance, never how much moved; native coin shows as logs of 0xeeee… geth
// 1.14.9, Nethermind 1.28, reth, Nitro, Erigon 3.1 and anvil have the method, others not yet.

import { type Hex, zeroAddress } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { transferTopic } from "executable-address/status";
import { getAddress, hexToBigInt, isHex, size, sliceHex } from "viem/utils";
import { askAt, type StateOverrides } from "../rpc/call-at.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { isRefusal } from "../rpc/json-rpc.ts";
import type { Log } from "../rpc/log.ts";
import { callGas, type Pair } from "./meter.ts";

type Discovered = {
  gasUsed: number;
  /** Each pair once; those with the largest claimed movement first. */
  pairs: Pair[];
};

const nativeLogger = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

type Call = { status: Hex; gasUsed: Hex; logs?: Log[] };

/** @returns undefined where the node has no such method, or does not see the run succeed */
export async function discover(
  rpc: ChainRpc,
  block: BlockReference,
  call: { to: Hex; data: Hex },
  stateOverrides: StateOverrides = {},
): Promise<Discovered | undefined> {
  const calls = [{ to: call.to, input: call.data, gas: `0x${callGas.toString(16)}` }];
  const payload = { blockStateCalls: [{ stateOverrides, calls }], traceTransfers: true };
  try {
    const answer = await askAt(rpc, block, (at) => ({
      method: "eth_simulateV1",
      params: [payload, at],
    }));
    const [done] = (answer as { calls: Call[] }[])[0]!.calls;
    if (Number(done!.status) !== 1) return undefined;
    return { gasUsed: Number(done!.gasUsed), pairs: pairsOf(done!.logs ?? []) };
  } catch (error) {
    // Nodes that do not know the method give malformed answers too.
    if (isRefusal(error) || error instanceof TypeError) return undefined;
    throw error;
  }
}

function pairsOf(logs: readonly Log[]): Pair[] {
  const found = new Map<string, { pair: Pair; claimed: bigint }>();
  for (const { address, topics, data } of logs) {
    if (topics[0] !== transferTopic || topics.length < 3) continue;
    const token = address.toLowerCase() === nativeLogger ? zeroAddress : getAddress(address);
    const claimed = isHex(data) && size(data) === 32 ? hexToBigInt(data) : 1n;
    for (const topic of topics.slice(1, 3)) {
      const account = getAddress(sliceHex(topic, 12, 32));
      const key = `${account}${token}`;
      const known = found.get(key) ?? { pair: { account, token }, claimed: 0n };
      known.claimed += claimed;
      found.set(key, known);
    }
  }
  const byClaim = [...found.values()].sort((a, b) => (a.claimed < b.claimed ? 1 : -1));
  return byClaim.map(({ pair }) => pair);
}
