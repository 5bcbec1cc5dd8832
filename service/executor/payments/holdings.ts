// Reads what vaults hold, and which of them have code, 150 in an eth_call.

import { type Hex, zeroAddress } from "executable-address";
import type { Holding } from "executable-address/status";
import { type Answer, ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import { askHoldings, type Holder, holdersMax } from "../../chain/status/probe.ts";
import type { Pass } from "../parts.ts";

/** Groups of one request: a node answers each in some 10 ms, and a provider is far away. */
const groupsMax = 8;

/** In groups. Where no endpoint answers for some, those of the next pass are smaller. */
export async function readHoldings(
  { parts, memory, view }: Pass,
  asked: readonly Holder[],
  turn: number,
): Promise<Holding[]> {
  const holdings: Holding[] = [];
  const { probeMax } = memory;
  const block = { chainId: parts.chain.chainId, timestamp: view.head.timestamp, at: view.at };
  for (let at = 0; at < asked.length; at += groupsMax * probeMax) {
    const some = asked.slice(at, at + groupsMax * probeMax);
    const groups = Array.from({ length: Math.ceil(some.length / probeMax) }, (_, index) =>
      askHoldings(some.slice(index * probeMax, (index + 1) * probeMax), block),
    );
    const calls = groups.map(({ call }) => call);
    const isReadable = (answer: Answer, index: number) => groups[index]!.isReadable(answer);
    try {
      const answers = await view.readInTurn(calls, turn, isReadable);
      groups.forEach(({ read }, index) => {
        holdings.push(...read(answers[index]!));
      });
    } catch (error) {
      if (error instanceof ChainUnavailable) {
        memory.probeMax = Math.max(1, Math.floor(Math.min(probeMax, some.length) / 4));
      }
      throw error;
    }
  }
  memory.probeMax = Math.min(holdersMax, memory.probeMax * 2);
  return holdings;
}

/** Finds which of `vaults` have code. */
export async function findCoded(pass: Pass, vaults: readonly Hex[]): Promise<Set<Hex>> {
  const asked = vaults.map((vault) => ({ vault, token: zeroAddress }));
  const holdings = await readHoldings(pass, asked, pass.memory.examineTurn++);
  return new Set(vaults.filter((_, index) => holdings[index]!.codeBytes > 0));
}
