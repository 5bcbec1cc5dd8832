// Computes the value of the tips that an intent pays to its executor through the Tip contract. The
// operator sets the token prices. A tip in a token without a price has no value.

import { type Hex, type Intent, type Tip, tipOf } from "executable-address";
import type { Chain } from "../../chain/chains.ts";

/** Token prices by lower-case address. `wei` is the value of 10^`decimals` base units. */
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

/** Returns the total value of the tips in wei. A successful execution pays all tips. */
export function computeTipsValue(prices: TipPrices, tips: readonly Tip[]): bigint {
  return tips.reduce(
    (sum, { token, amount }) => sum + (convertToWei(prices, token, amount) ?? 0n),
    0n,
  );
}

/**
 * Returns a function that decides which records a mirror keeps from another service. If budgets pay
 * for executions, the mirror keeps all intents for listed chains. If only tips pay, the mirror
 * keeps only intents that have not expired and that pay a tip in a token with a price. Whether the
 * tip is high enough is decided when the address is paid.
 *
 * @param clock the current time in Unix milliseconds, because a mirror reads no chain
 */
export function openIntentFilter(
  chains: readonly Chain[],
  pays: "sponsor" | "tips" | "both",
  clock: () => number,
) {
  const pricesByChain = new Map(chains.map((chain) => [chain.chainId, toTipPrices(chain)]));
  return ({ chainId, calls, expirationTimestamp }: Intent): boolean => {
    const prices = pricesByChain.get(chainId);
    if (!prices || pays !== "tips") return prices !== undefined;
    return (
      Math.floor(clock() / 1000) <= expirationTimestamp &&
      computeTipsValue(
        prices,
        calls.flatMap((call) => tipOf(call) ?? []),
      ) > 0n
    );
  };
}
