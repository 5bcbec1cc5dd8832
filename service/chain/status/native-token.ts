// On chains whose native coin is also a token, one balance shows twice: counted as the token's.

import type { Hex } from "executable-address";
import { type Holding, isNativeToken, withoutCoinParams } from "executable-address/status";
import type { AtBlock } from "../rpc/call-at.ts";
import type { Holder } from "./probe.ts";

/**
 * Gives `holdings` with no coin besides a token that is the coin. Of each token that shows beside
 * coin this is asked once: what was answered is kept in `known`, by token in lower case. A node
 * that takes no state overrides cannot say: then both are shown.
 */
export async function countOnce(
  { ask }: AtBlock,
  known: Map<Hex, boolean>,
  holders: readonly Holder[],
  holdings: readonly Holding[],
): Promise<Holding[]> {
  const keys = holders.map(({ token }) => token.toLowerCase() as Hex);
  const open = new Map<Hex, { vault: Hex; balance: bigint }>();
  holdings.forEach(({ native, balance }, index) => {
    if (native === 0n || !balance || known.has(keys[index]!)) return;
    open.set(keys[index]!, { vault: holders[index]!.vault, balance });
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

/** The coin of one address, whose `holdings` were counted once: none where a token is the coin. */
export const coinOf = (holdings: readonly Holding[]): bigint =>
  holdings.reduce((least, { native }) => (native < least ? native : least), holdings[0]!.native);
