// On chains whose native coin is also a token, one balance shows twice: counted as the token's.

import type { Hex } from "executable-address";
import {
  type BlockReference,
  type Holding,
  isNativeToken,
  withoutCoinParams,
} from "executable-address/status";
import { askAt } from "../rpc/call-at.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { isRefusal } from "../rpc/json-rpc.ts";
import type { Holder } from "./probe.ts";

/**
 * `holdings` with no coin besides a token that is the coin. Asked of a token only where both show,
 * and once for all of them: what it answered is kept in `known`, by token in lower case.
 */
export async function countOnce(
  rpc: ChainRpc,
  known: Map<Hex, boolean>,
  block: BlockReference,
  holders: readonly Holder[],
  holdings: readonly Holding[],
): Promise<Holding[]> {
  const asked = new Map<Hex, Promise<boolean>>();
  return Promise.all(
    holdings.map(async (holding, index) => {
      const { native, balance } = holding;
      if (native === 0n || !balance) return holding;
      const holder = holders[index]!;
      const key = holder.token.toLowerCase() as Hex;
      const answer = asked.get(key) ?? isCoin(rpc, known, block, holder, balance);
      asked.set(key, answer);
      return (await answer) ? { ...holding, native: 0n } : holding;
    }),
  );
}

/** A node that takes no state overrides cannot say: then both are shown. */
async function isCoin(
  rpc: ChainRpc,
  known: Map<Hex, boolean>,
  block: BlockReference,
  { vault, token }: Holder,
  balance: bigint,
): Promise<boolean> {
  const key = token.toLowerCase() as Hex;
  const found = known.get(key);
  if (found !== undefined) return found;
  const ask = (at: unknown) => ({
    method: "eth_call",
    params: withoutCoinParams(token, vault, at),
  });
  try {
    const answer = isNativeToken(balance, await askAt(rpc, block, ask));
    known.set(key, answer);
    return answer;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}
