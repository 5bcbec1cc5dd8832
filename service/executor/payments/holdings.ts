// Reads what vaults hold, and which of them have code, 150 in an eth_call.

import { type Hex, zeroAddress } from "executable-address";
import type { Holding } from "executable-address/status";
import { ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import { askHoldings, type Holder, holdersMax } from "../../chain/status/probe.ts";
import type { Pass } from "../parts.ts";

/** In groups. Where no endpoint answers for a group, those of the next pass are smaller. */
export async function readHoldings(
  { parts, memory, view }: Pass,
  asked: readonly Holder[],
  turn: number,
): Promise<Holding[]> {
  const holdings: Holding[] = [];
  for (let at = 0; at < asked.length; ) {
    const group = asked.slice(at, at + memory.probeMax);
    const { call, read, isReadable } = askHoldings(group, {
      chainId: parts.chain.chainId,
      timestamp: view.head.timestamp,
      at: view.at,
    });
    try {
      const [answer] = await view.readInTurn([call], turn, isReadable);
      holdings.push(...read(answer!));
    } catch (error) {
      if (error instanceof ChainUnavailable) {
        memory.probeMax = Math.max(1, Math.floor(group.length / 4));
      }
      throw error;
    }
    at += group.length;
  }
  memory.probeMax = Math.min(holdersMax, memory.probeMax * 2);
  return holdings;
}

/** Those of `vaults` that have code. */
export async function findCoded(pass: Pass, vaults: readonly Hex[]): Promise<Set<Hex>> {
  const asked = vaults.map((vault) => ({ vault, token: zeroAddress }));
  const holdings = await readHoldings(pass, asked, pass.memory.examineTurn++);
  return new Set(vaults.filter((_, index) => holdings[index]!.codeBytes > 0));
}
