// Reads what each address of a transaction took of its gas, where a node traces it, and what it
// paid the sender in tokens that have a price.

import type { Hex } from "executable-address";
import { saidBy } from "../../chain/rpc/alike.ts";
import { quantity } from "../../chain/rpc/json-rpc.ts";
import { transferTopic } from "../../chain/rpc/log.ts";
import type { Purpose } from "../ledger/purposes.ts";
import { type TipPrices, weiOf } from "../money/tips.ts";
import type { Pass } from "../parts.ts";
import type { Receipt } from "./receipt.ts";

/** In wei, by address; a token's log is believed as far as the operator has a price for it. */
export function tipsIn(
  { logs }: Receipt,
  { sender, addresses }: Purpose,
  prices: TipPrices,
): Map<Hex, bigint> {
  const sums = new Map<Hex, bigint>();
  for (const { address: token, topics, data } of logs) {
    const [topic, from, to] = topics;
    if (topic !== transferTopic || topics.length !== 3 || data.length !== 66) continue;
    const vault: Hex = `0x${from!.slice(26)}`;
    if (`0x${to!.slice(26)}` !== sender || !addresses.includes(vault)) continue;
    const wei = weiOf(prices, token, BigInt(data)) ?? 0n;
    if (wei > 0n) sums.set(vault, (sums.get(vault) ?? 0n) + wei);
  }
  return sums;
}

/**
 * By address, in units of gas; undefined where no node says it, or two contradict each other. Who
 * shares a transaction otherwise pays by what was estimated.
 */
export async function readGasTaken(
  { memory, view }: Pass,
  hash: Hex,
  vaults: readonly Hex[],
): Promise<Map<Hex, number> | undefined> {
  if (vaults.length < 2 || memory.isUntraced) return undefined;
  const call = { method: "debug_traceTransaction", params: [hash, { tracer: "callTracer" }] };
  const lists = await view.readEach([call]);
  const found = saidBy(lists, 0, (result) => gasOfItems(result, vaults.length));
  // A node that has no such method now will have none in the next hour.
  memory.isUntraced = found.length === 0;
  const [first] = found;
  const isSame = found.every((each) => `${each}` === `${first}`);
  return first && isSame ? new Map(vaults.map((vault, i) => [vault, first[i]!])) : undefined;
}

/** The factory calls itself once for each item, but for those that were over before. */
function gasOfItems(trace: unknown, count: number): number[] | undefined {
  const { calls = [] } = trace as { calls?: { gasUsed: unknown }[] };
  if (calls.length !== count) return undefined;
  return calls.map(({ gasUsed }) => Number(quantity(gasUsed)));
}
