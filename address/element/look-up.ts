// What an element shows, fetched and proved: the record is the address's own or it is none.

import { factoryAddress } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { verifyRecord } from "../record.ts";

export type LookedUp =
  | { kind: "loading" | "wrong" | "missing" | "unreachable" }
  | {
      kind: "record";
      record: AddressRecord;
      /** By the server's word; undefined where it does not list them. */
      chainName: string | undefined;
      token: { symbol: string; decimals: number } | undefined;
    };

/** Never throws. The factory is the one this package was made for, whatever the answer says. */
export async function lookUp(
  baseUrl: string,
  address: Hex,
  signal: AbortSignal,
): Promise<LookedUp> {
  const get = (path: string) => fetch(`${baseUrl}${path}`, { signal }).catch(() => undefined);
  const [answer, list] = await Promise.all([get(`/address/${address}`), get("/chains")]);
  if (answer?.status === 404) return { kind: "missing" };
  if (!answer?.ok) return { kind: "unreachable" };
  try {
    const record = verifyRecord(await answer.json(), { factory: factoryAddress, address });
    const chains = list?.ok ? await list.json().catch(() => undefined) : undefined;
    return { kind: "record", record, ...named(record, chains) };
  } catch {
    return { kind: "wrong" };
  }
}

const decimalsMax = 77;
const isName = (text: unknown): text is string =>
  typeof text === "string" && /^[\p{L}\p{N}\p{P}\p{S} ]{1,40}$/u.test(text);

/** Names are shown beside an amount of money, so only plain ones are. */
function named({ intent }: AddressRecord, list: unknown) {
  type Listed = { chainId?: unknown; name?: unknown; tokens?: unknown };
  const { chains } = (list ?? {}) as { chains?: unknown };
  const chain: Listed | undefined = Array.isArray(chains)
    ? chains.find((each: Listed | null) => each?.chainId === intent.chainId)
    : undefined;
  const tokens: unknown[] = Array.isArray(chain?.tokens) ? chain.tokens : [];
  type Token = { address?: unknown; symbol?: unknown; decimals?: unknown };
  const token = (tokens as (Token | null)[]).find(
    (each) => String(each?.address).toLowerCase() === intent.token.toLowerCase(),
  );
  const { symbol, decimals } = token ?? {};
  const isWhole =
    isName(symbol) &&
    Number.isInteger(decimals) &&
    Number(decimals) >= 0 &&
    Number(decimals) <= decimalsMax;
  return {
    chainName: isName(chain?.name) ? chain.name : undefined,
    token: isWhole ? { symbol, decimals: Number(decimals) } : undefined,
  };
}
