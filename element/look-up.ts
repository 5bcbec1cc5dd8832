// Finds what an element shows: a proved record, and the server's names for its chain and token.

import type { AddressRecord, Hex } from "executable-address";
import { findRecord } from "executable-address/client/parts";
import { isSame } from "executable-address/status";
import { type Chain, findChains, type Token } from "./chains.ts";

export type LookedUp =
  | { kind: "loading" | "wrong" | "missing" | "unreachable" }
  | {
      kind: "record";
      record: AddressRecord;
      /** The server's word; undefined where it does not list them. */
      chainName: string | undefined;
      token: { symbol: string; decimals: number } | undefined;
    };

/**
 * Never throws. The factory is the one this package was made for, whatever the answer says.
 *
 * @param mirrors of the service's records, for when it gives none that proves itself
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
