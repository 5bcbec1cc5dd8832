// Amounts of money in words, by what this server lists.

import type { Intent } from "executable-address";
import { formatUnits } from "executable-address/page";
import type { Chain, Token } from "./api.ts";

/** The chain and token of an amount: an intent has both, and so has a sum. */
export type Place = Pick<Intent, "chainId" | "token">;

export const chainOf = ({ chainId }: Place, chains: readonly Chain[]): Chain | undefined =>
  chains.find((chain) => chain.chainId === chainId);

export const tokenOf = (place: Place, chains: readonly Chain[]): Token | undefined =>
  chainOf(place, chains)?.tokens.find(
    ({ address }) => address.toLowerCase() === place.token.toLowerCase(),
  );

/** "25 USDC"; of a token that is not listed, base units, which cannot mislead. */
export function sayAmount(units: string, place: Place, chains: readonly Chain[]): string {
  const token = tokenOf(place, chains);
  if (token) return `${formatUnits(units, token.decimals)} ${token.symbol}`;
  return `${formatUnits(units, 0)} base units`;
}

/** "USDC on Base", or what is known of it. */
export const sayToken = (place: Place, chains: readonly Chain[]): string =>
  `${tokenOf(place, chains)?.symbol ?? place.token} on ${
    chainOf(place, chains)?.name ?? `chain ${place.chainId}`
  }`;
