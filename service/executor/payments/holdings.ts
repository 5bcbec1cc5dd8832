// Reads what vaults hold, and which of them have code, 150 in an eth_call.

import { type Hex, zeroAddress } from "executable-address";
import type { Holding } from "executable-address/status";
import type { AtBlock } from "../../chain/rpc/call-at.ts";
import { type Answer, type Call, ChainUnavailable } from "../../chain/rpc/json-rpc.ts";
import type { Usable } from "../../chain/rpc/view.ts";
import { type Holder, holdersMax, readHoldings } from "../../chain/status/probe.ts";
import { groupsOf } from "../../flow/groups.ts";
import type { HoldingsMemory, Pass } from "../parts.ts";

/** Groups of one request: a provider is far away, so one request has several. */
const groupsMax = 8;

const atHead = (
  { parts, view }: Pass,
  ask: (calls: Call[], isUsable: Usable) => Promise<Answer[][]>,
): AtBlock => ({
  chainId: parts.chain.chainId,
  timestamp: view.head.timestamp,
  ask: (questions, isUsable) =>
    ask(
      questions.map((question) => question(view.at)),
      isUsable,
    ),
});

export const freshHoldings = (): HoldingsMemory => ({
  turn: 0,
  perCallMax: holdersMax,
  nativeTokens: new Map(),
});

/** Asks enough endpoints, which must say the same; another one first at each turn. */
export const inTurn = (pass: Pass, turn: number): AtBlock =>
  atHead(pass, async (calls, isUsable) => [await pass.view.readInTurn(calls, turn, isUsable)]);

/** Asks as many, each of which may show something of its own. */
export const ofSeveral = (pass: Pass, turn: number): AtBlock =>
  atHead(pass, (calls, isUsable) => pass.view.readSeveral(calls, turn, isUsable));

/** Reads in groups. Where no endpoint answers for some, those of the next pass are smaller. */
export async function readGroups(
  pass: Pass,
  holders: readonly Holder[],
  turn: number,
): Promise<Holding[]> {
  const memory = pass.memory.holdings;
  const { perCallMax } = memory;
  const holdings: Holding[] = [];
  for (const some of groupsOf(holders, groupsMax * perCallMax)) {
    try {
      const [shown] = await readHoldings(inTurn(pass, turn), some, perCallMax);
      holdings.push(...shown!);
    } catch (error) {
      if (error instanceof ChainUnavailable) {
        memory.perCallMax = Math.max(1, Math.floor(Math.min(perCallMax, some.length) / 4));
      }
      throw error;
    }
  }
  memory.perCallMax = Math.min(holdersMax, memory.perCallMax * 2);
  return holdings;
}

/** Finds which of `vaults` have code. */
export async function findCoded(pass: Pass, vaults: readonly Hex[]): Promise<Set<Hex>> {
  const asked = vaults.map((vault) => ({ vault, token: zeroAddress }));
  const holdings = await readGroups(pass, asked, pass.memory.holdings.turn++);
  return new Set(vaults.filter((_, index) => holdings[index]!.codeBytes > 0));
}
