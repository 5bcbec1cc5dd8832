// Fetches and proves what an element shows: the record is the address's own or there is none.

import { type AddressRecord, factoryAddress, type Hex, verifyRecord } from "executable-address";
import { openSources } from "executable-address/client/parts";
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

/** Why a source gives no record. */
class NoRecord extends Error {
  readonly kind: "wrong" | "missing" | "unreachable";
  constructor(kind: NoRecord["kind"]) {
    super(kind);
    this.kind = kind;
  }
}

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
  const fromSources = openSources([baseUrl, ...mirrors]);
  const chains = findChains(baseUrl, signal);
  try {
    const record = await fromSources((from, signal) => {
      // Files of a mirror are named in lower case.
      const name = from === baseUrl ? address : address.toLowerCase();
      return recordAt(`${from}/address/${name}`, address, signal);
    }, signal);
    return { kind: "record", record, ...named(record, await chains) };
  } catch (error) {
    return { kind: error instanceof NoRecord ? error.kind : "unreachable" };
  }
}

async function recordAt(url: string, address: Hex, signal: AbortSignal) {
  const answer = await fetch(url, { signal }).catch(() => undefined);
  if (answer?.status === 404) throw new NoRecord("missing");
  if (!answer?.ok) throw new NoRecord("unreachable");
  try {
    return verifyRecord(await answer.json(), { factory: factoryAddress, address });
  } catch {
    throw new NoRecord("wrong");
  }
}

function named({ intent }: AddressRecord, chains: Chain[]) {
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const isPaid = ({ address }: Token) => isSame(address, intent.token);
  return { chainName: chain?.name, token: chain?.tokens.find(isPaid) };
}
