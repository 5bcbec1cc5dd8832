// Amounts of money in words, by what this server lists.

import type { Intent } from "executable-address";
import { coinDecimals, coins, formatUnits, isSame } from "executable-address-element/page";
import { findToken } from "../shown/reading.ts";
import { nativeCoin } from "../shown/simulation.ts";
import type { Chain } from "./api.ts";
import type { Say } from "./words/words.ts";

/** The chain and token of an amount: an intent has both, and so has a sum. */
export type Place = Pick<Intent, "chainId" | "token">;

export const chainOf = (
  { chainId }: Pick<Place, "chainId">,
  chains: readonly Chain[],
): Chain | undefined => chains.find((chain) => chain.chainId === chainId);

/** "25 USDC"; of a token that is not listed, base units, which cannot mislead. */
export function sayAmount(units: string, place: Place, chains: readonly Chain[], say: Say): string {
  if (isSame(place.token, nativeCoin)) return sayCoin(units, place, say);
  const token = findToken(place, chains, place.token);
  if (token) return `${formatUnits(units, token.decimals)} ${token.symbol}`;
  return say("baseUnits", { amount: sayCount(units) });
}

/** An amount of a chain's coin, by its name where that is known. */
const sayCoin = (wei: string, { chainId }: Pick<Place, "chainId">, say: Say): string =>
  `${formatUnits(wei, coinDecimals)} ${coins[chainId] ?? say("nativeCoin")}`;

/** "USDC on Base", or what is known of it. */
export const sayToken = (place: Place, chains: readonly Chain[], say: Say): string =>
  say("tokenOn", {
    token: findToken(place, chains, place.token)?.symbol ?? place.token,
    chain: sayChain(place, chains, say),
  });

export const sayChain = (place: Pick<Place, "chainId">, chains: readonly Chain[], say: Say) =>
  chainOf(place, chains)?.name ?? say("chainNumber", { id: place.chainId });

/** A number as amounts are written. */
export const sayCount = (count: number | string): string => formatUnits(`${count}`, 0);
