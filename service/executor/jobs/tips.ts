// What an intent pays whoever executes it: calls of the Tip contract, valued by the operator's own
// prices. A token without a price is worth nothing here, so no stranger's token buys anything.

import type { Hex, Intent } from "executable-address";

/** Base units of a token, lower case. */
export type Tip = { token: Hex; amount: bigint };

/** Wei for 10^`decimals` base units, by token in lower case. */
export type TipPrices = ReadonlyMap<Hex, { wei: bigint; decimals: number }>;

/** As the intent's call names it. */
const tipFunction = "tip(address token, uint256 amount)";

/**
 * A simulated execution that succeeds has run each call of it, so what these say was paid.
 * @param tip the Tip contract, lower case; undefined: the chain has none
 */
export function tipsIn({ calls }: Intent, tip: Hex | undefined): Tip[] {
  return calls
    .filter((call) => call.target.toLowerCase() === tip && call.function === tipFunction)
    .map(({ args }) => ({ token: args[0]!.toLowerCase() as Hex, amount: BigInt(args[1]!) }));
}

/** In wei; undefined where the token has no price. */
export function weiOf(prices: TipPrices, token: Hex, amount: bigint): bigint | undefined {
  const price = prices.get(token);
  return price && (amount * price.wei) / 10n ** BigInt(price.decimals);
}

export function valueOfTips(prices: TipPrices, tips: readonly Tip[]): bigint {
  return tips.reduce((sum, { token, amount }) => sum + (weiOf(prices, token, amount) ?? 0n), 0n);
}
