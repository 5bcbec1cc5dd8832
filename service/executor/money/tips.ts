// Values the tips that an intent pays to its executor through the Tip contract, at the operator's
// own prices. A token without a price is worth nothing, so a worthless token cannot pay for gas.

import { type Hex, type Intent, type Tip, tipOf } from "executable-address";
import type { Chain } from "../../chain/chains.ts";

/** The wei that 10^`decimals` base units are worth, by token in lower case. */
export type TipPrices = ReadonlyMap<Hex, { wei: bigint; decimals: number }>;

export const toTipPrices = ({ tokens, tipPrices }: Chain): TipPrices =>
  new Map(
    tokens.flatMap(({ address, symbol, decimals }) => {
      const wei = tipPrices?.[symbol];
      return wei ? [[address.toLowerCase() as Hex, { wei: BigInt(wei), decimals }] as const] : [];
    }),
  );

/** Returns the value in wei; undefined if the token has no price. */
export function convertToWei(prices: TipPrices, token: Hex, amount: bigint): bigint | undefined {
  const price = prices.get(token);
  return price && (amount * price.wei) / 10n ** BigInt(price.decimals);
}

/**
 * Returns the wei that tips are worth. An execution that succeeds runs all calls, so it pays them.
 */
export function computeTipsValue(prices: TipPrices, tips: readonly Tip[]): bigint {
  return tips.reduce(
    (sum, { token, amount }) => sum + (convertToWei(prices, token, amount) ?? 0n),
    0n,
  );
}

/**
 * Returns a function that decides which records of a mirror are worth keeping: it has the records
 * of all customers of its service. With budgets these are all intents of a listed chain. With tips
 * only, they are intents that can still run and pay in a token with a price; whether a tip is
 * enough is decided when the address is paid.
 */
export function openIntentFilter(chains: readonly Chain[], pays: "sponsor" | "tips" | "both") {
  const pricesByChain = new Map(chains.map((chain) => [chain.chainId, toTipPrices(chain)]));
  return ({ chainId, calls, expirationTimestamp }: Intent): boolean => {
    const prices = pricesByChain.get(chainId);
    if (!prices || pays !== "tips") return prices !== undefined;
    const isOpen = expirationTimestamp * 1000 > Date.now();
    return (
      isOpen &&
      computeTipsValue(
        prices,
        calls.flatMap((call) => tipOf(call) ?? []),
      ) > 0n
    );
  };
}
