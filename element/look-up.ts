// Finds the data that an element shows: a verified record, and the names of its chain and token.

import type { AddressRecord, Hex } from "executable-address";
import { findRecord } from "executable-address/client/internal";
import { isSame } from "executable-address/status";
import { type Chain, findChains, type Token } from "./chains.ts";

export type LookedUp =
  | { kind: "loading" | "wrong" | "missing" | "unreachable" }
  | {
      kind: "record";
      record: AddressRecord;
      /** Names from the server. Undefined if the server does not list the chain or the token. */
      chainName: string | undefined;
      token: { symbol: string; decimals: number } | undefined;
    };

/**
 * Never throws. Verifies the record with the factory address of this package. The factory address
 * in the response is not trusted.
 * @param mirrors base URLs to try if the service returns no valid record
 */
export async function lookUp(
  baseUrl: string,
  mirrors: readonly string[],
  address: Hex,
  signal: AbortSignal,
): Promise<LookedUp> {
  const chains = findChains(baseUrl, signal);
  const found = await findRecord([baseUrl, ...mirrors], address, signal);
  if (found.kind !== "record") return { kind: found.kind };
  return { ...found, ...named(found.record, await chains) };
}

function named({ intent }: AddressRecord, chains: Chain[]) {
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const isPaid = ({ address }: Token) => isSame(address, intent.token);
  return { chainName: chain?.name, token: chain?.tokens.find(isPaid) };
}
