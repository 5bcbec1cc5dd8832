// Computes the value of the tips that an intent pays through the Tip contract. The operator sets
// the token prices. A tip in a token without a price has no value.

import { type Hex, type Intent, type Tip, tipOf } from "executable-address";
import type { Chain } from "../../chain/chains.ts";
import { lowerAddress } from "../../flow/lower-address.ts";

/** Token prices by lowercase address. `wei` is the value of 10^`decimals` base units. */
export type TipPrices = ReadonlyMap<Hex, { wei: bigint; decimals: number }>;

export const toTipPrices = ({ tokens, tipPrices }: Chain): TipPrices =>
  new Map(
    tokens.flatMap(({ address, symbol, decimals }) => {
      const wei = tipPrices?.[symbol];
      return wei ? [[lowerAddress(address), { wei: BigInt(wei), decimals }] as const] : [];
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
 * Returns a filter for an executor that copies intents from another service (`--from-mirror`). The
 * filter returns true if the executor should keep an intent. If budgets pay for executions, the
 * filter keeps all intents for listed chains. If only tips pay, the filter keeps unexpired intents
 * whose tip token has a known price. When the address is paid, the executor checks whether the tip
 * is high enough.
 *
 * @param clock returns the current Unix time in milliseconds. The filter has no connection to a
 *   chain, so it cannot use the block time
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
