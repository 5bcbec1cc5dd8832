// Which records of strangers are worth keeping: a mirror has those of all its service's customers.

import { type Intent, tipOf } from "executable-address";
import type { Chain } from "../../chain/chains.ts";
import { tipPricesOf, valueOfTips } from "./tips.ts";

/**
 * With budgets every intent of a listed chain is wanted. By tips alone it is one that can still run
 * and pays in a token that has a price; whether it pays enough is seen when it is paid.
 */
export function wantedBy(chains: readonly Chain[], pays: "sponsor" | "tips" | "both") {
  const pricesOf = new Map(chains.map((chain) => [chain.chainId, tipPricesOf(chain)]));
  return ({ chainId, calls, expirationTimestamp }: Intent): boolean => {
    const prices = pricesOf.get(chainId);
    if (!prices || pays !== "tips") return prices !== undefined;
    const isOpen = expirationTimestamp * 1000 > Date.now();
    return (
      isOpen &&
      valueOfTips(
        prices,
        calls.flatMap((call) => tipOf(call) ?? []),
      ) > 0n
    );
  };
}
