// Formats amounts of the tokens that this server lists, and parses amounts from forms.

import type { Intent } from "executable-address";
import { coinDecimals, coins, formatUnits, isSame } from "executable-address-element/page";
import { findToken } from "../shown/reading.ts";
import { nativeCoin } from "../shown/simulation.ts";
import type { Chain } from "./api.ts";
import type { Say } from "./words/words.ts";

/** The chain and the token of an amount. Intents and the statistics have these fields. */
export type TokenOnChain = Pick<Intent, "chainId" | "token">;

export const findChain = (
  { chainId }: Pick<TokenOnChain, "chainId">,
  chains: readonly Chain[],
): Chain | undefined => chains.find((chain) => chain.chainId === chainId);

/** Returns text such as "25 USDC". For an unlisted token, returns base units. */
export function sayAmount(
  units: string,
  place: TokenOnChain,
  chains: readonly Chain[],
  say: Say,
): string {
  if (isSame(place.token, nativeCoin)) return sayCoin(units, place, say);
  const token = findToken(place, chains, place.token);
  if (token) return `${formatUnits(units, token.decimals)} ${token.symbol}`;
  return say("baseUnits", { amount: sayCount(units) });
}

/** Formats an amount of the native coin, with the coin's symbol if it is known. */
const sayCoin = (wei: string, { chainId }: Pick<TokenOnChain, "chainId">, say: Say): string =>
  `${formatUnits(wei, coinDecimals)} ${coins[chainId] ?? say("nativeCoin")}`;

/**
 * Returns text such as "USDC on Base". An unlisted token appears as its address, and an unlisted
 * chain as its ID.
 */
export const sayToken = (place: TokenOnChain, chains: readonly Chain[], say: Say): string =>
  say("tokenOn", {
    token: findToken(place, chains, place.token)?.symbol ?? place.token,
    chain: sayChain(place, chains, say),
  });

export const sayChain = (
  place: Pick<TokenOnChain, "chainId">,
  chains: readonly Chain[],
  say: Say,
) => findChain(place, chains)?.name ?? say("chainNumber", { id: place.chainId });

/** Formats a number in the same way as an amount. */
export const sayCount = (count: number | string): string => formatUnits(`${count}`, 0);

/**
 * Converts a typed amount to base units: with 6 decimals, `12.5` becomes `12500000`.
 *
 * @returns undefined if the text is zero, not a plain decimal number, or too precise
 */
export function readUnits(text: string, decimals: number): string | undefined {
  const [, whole, fraction = ""] = /^([0-9]{1,60})(?:\.([0-9]+))?$/.exec(text.trim()) ?? [];
  if (whole === undefined || fraction.length > decimals) return undefined;
  const units = BigInt(whole + fraction.padEnd(decimals, "0"));
  return units === 0n || units >= 2n ** 256n ? undefined : units.toString();
}
