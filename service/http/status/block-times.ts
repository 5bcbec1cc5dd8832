// Reads when an address was executed or first sent money to `recovery`: the timestamp of that
// block. It is read once and kept; where a node does not answer, the status has null in its place.

import type { AddressStatus } from "executable-address/status";
import type { Chains } from "../../chain/registry.ts";
import { blockOf } from "../../chain/rpc/json-rpc.ts";
import { recalled } from "../../flow/recalled.ts";

const timesMax = 20_000;

/** @returns Unix seconds; null while it neither ran nor was returned, or no node tells */
export function openBlockTimes(chains: Pick<Chains, "find" | "rpcOf">) {
  const recall = recalled<number>(timesMax);

  return async ({ chainId, execution, recoveries }: AddressStatus): Promise<number | null> => {
    const event = execution ?? recoveries[0];
    if (!event || !chains.find(chainId)) return null;
    const params = [event.blockHash, false];
    const ask = async () =>
      blockOf(await chains.rpcOf(chainId).request("eth_getBlockByHash", params)).timestamp;
    return recall(`${chainId}:${event.blockHash}`, ask).catch(() => null);
  };
}
