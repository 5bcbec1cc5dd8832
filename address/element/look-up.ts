// Fetches and proves what an element shows: the record is the address's own or there is none.

import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { verifyRecord } from "../record.ts";
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

/** Never throws. The factory is the one this package was made for, whatever the answer says. */
export async function lookUp(
  baseUrl: string,
  address: Hex,
  signal: AbortSignal,
): Promise<LookedUp> {
  const [answer, chains] = await Promise.all([
    fetch(`${baseUrl}/address/${address}`, { signal }).catch(() => undefined),
    findChains(baseUrl, signal),
  ]);
  if (answer?.status === 404) return { kind: "missing" };
  if (!answer?.ok) return { kind: "unreachable" };
  try {
    const record = verifyRecord(await answer.json(), { factory: factoryAddress, address });
    return { kind: "record", record, ...named(record, chains) };
  } catch {
    return { kind: "wrong" };
  }
}

function named({ intent }: AddressRecord, chains: Chain[]) {
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const isPaid = ({ address }: Token) => address.toLowerCase() === intent.token.toLowerCase();
  return { chainName: chain?.name, token: chain?.tokens.find(isPaid) };
}
