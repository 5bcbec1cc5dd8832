// Values what an intent pays its executor, by calls of the Tip contract, at the operator's own
// prices. A token without a price counts as nothing, so a worthless token cannot pay for gas.

import type { Hex, Tip } from "executable-address";
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
export function weiOf(prices: TipPrices, token: Hex, amount: bigint): bigint | undefined {
  const price = prices.get(token);
  return price && (amount * price.wei) / 10n ** BigInt(price.decimals);
}

/** Wei. An execution whose estimate succeeds runs each of its calls, so it pays these tips. */
export function valueOfTips(prices: TipPrices, tips: readonly Tip[]): bigint {
  return tips.reduce((sum, { token, amount }) => sum + (weiOf(prices, token, amount) ?? 0n), 0n);
}
