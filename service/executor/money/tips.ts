// Values the tips that an intent pays to its executor through the Tip contract, at the operator's
// own prices. A token without a price is worth nothing, so a worthless token cannot pay for gas.

import { type Hex, type Intent, type Tip, tipOf } from "executable-address";
import type { Chain } from "../../chain/chains.ts";

/** Wei for 10^`decimals` base units, by token in lower case. */
export type TipPrices = ReadonlyMap<Hex, { wei: bigint; decimals: number }>;

export const tipPricesOf = ({ tokens, tipPrices }: Chain): TipPrices =>
  new Map(
    tokens.flatMap(({ address, symbol, decimals }) => {
      const wei = tipPrices?.[symbol];
      return wei ? [[address.toLowerCase() as Hex, { wei: BigInt(wei), decimals }] as const] : [];
    }),
  );

/** Gives wei; undefined where the token has no price. */
export function convertToWei(prices: TipPrices, token: Hex, amount: bigint): bigint | undefined {
  const price = prices.get(token);
  return price && (amount * price.wei) / 10n ** BigInt(price.decimals);
}

/** Wei. An execution whose estimate succeeds runs each of its calls, so it pays these tips. */
export function valueOfTips(prices: TipPrices, tips: readonly Tip[]): bigint {
  return tips.reduce(
    (sum, { token, amount }) => sum + (convertToWei(prices, token, amount) ?? 0n),
    0n,
  );
}

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
