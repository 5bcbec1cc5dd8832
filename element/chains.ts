// Reads a server's list of chains and tokens: names, symbols, and decimals. A page cannot verify
// names. The page therefore ignores entries with names that are not safe to show.

import type { Hex } from "executable-address";
import { address, fits, integer } from "executable-address/client/internal";
import { chainNameMax, decimalsMax, isName, symbolMax } from "executable-address/payment";

export type Token = { symbol: string; address: Hex; decimals: number };
export type Chain = { chainId: number; name: string; tokens: readonly Token[] };

const decimals = integer(0, decimalsMax);

/**
 * Never throws. Returns no chains if the server returns no valid list. Without a valid list, the
 * page shows amounts in base units.
 */
export async function findChains(baseUrl: string, signal: AbortSignal): Promise<Chain[]> {
  const answer = await fetch(`${baseUrl}/chains`, { signal }).catch(() => undefined);
  return readChains(answer?.ok ? await answer.json().catch(() => undefined) : undefined);
}

/** Returns the valid entries of a chain list, and ignores the others. */
export function readChains(list: unknown): Chain[] {
  const { chains } = (list ?? {}) as { chains?: unknown };
  if (!Array.isArray(chains)) return [];
  return chains
    .filter((chain) => Number.isSafeInteger(chain?.chainId) && isName(chain.name, chainNameMax))
    .map(({ chainId, name, tokens }) => ({
      chainId,
      name,
      tokens: Array.isArray(tokens) ? tokens.filter(isToken) : [],
    }));
}

const isToken = (token: Partial<Token> | null): token is Token =>
  isName(token?.symbol, symbolMax) &&
  fits(address, token?.address) &&
  fits(decimals, token?.decimals);
