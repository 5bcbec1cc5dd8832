// Reads when an address was executed or first returned money: the timestamp of that block. It is
// read once and kept; where a node does not answer, the status has null in its place.

import type { AddressStatus } from "executable-address/status";
import { LRUCache } from "lru-cache";
import { hexToNumber, isHex } from "viem";
import type { Chains } from "../../chain/registry.ts";

const timesMax = 20_000;

/** @returns Unix seconds; null while it neither ran nor was returned, or no node tells */
export function openBlockTimes(chains: Pick<Chains, "find" | "rpcOf">) {
  const times = new LRUCache<string, number>({ max: timesMax });

  return async ({ chainId, execution, recoveries }: AddressStatus): Promise<number | null> => {
    const event = execution ?? recoveries[0];
    if (!event || !chains.find(chainId)) return null;
    const key = `${chainId}:${event.blockHash}`;
    const known = times.get(key);
    if (known !== undefined) return known;
    const rpc = chains.rpcOf(chainId);
    const block = await rpc
      .request("eth_getBlockByHash", [event.blockHash, false])
      .catch(() => undefined);
    const timestamp = (block as { timestamp?: unknown } | null | undefined)?.timestamp;
    if (!isHex(timestamp)) return null;
    const seconds = hexToNumber(timestamp);
    times.set(key, seconds);
    return seconds;
  };
}
