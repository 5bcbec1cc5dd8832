// Reads the operator's data about an address: names, and chain data for wallets. Without a server,
// the page works but shows less.

import { isName } from "executable-address-element/page";
import type { Labels } from "./reading.ts";

export type Facts = {
  /** The name of the account that created the address, if the operator has confirmed the name. */
  readonly requester: string | undefined;
  readonly labels: Labels;
  /** The data for adding the address's chain to a wallet: a public RPC URL and the native coin. */
  readonly walletChain: { readonly rpcUrl: string; readonly coin: string } | undefined;
};

const labelsMax = 200;

/** Never throws. Omits values that are not safe to show. */
export function readFacts(text: string | null | undefined): Facts {
  const found = parsed(text);
  const labels = Object.entries((found.labels ?? {}) as Record<string, unknown>)
    .slice(0, labelsMax)
    .filter(([address, name]) => /^0x[0-9a-f]{40}$/.test(address) && isName(name));
  const { requester } = found;
  const { rpcUrl, coin } = (found.walletChain ?? {}) as Record<string, unknown>;
  return {
    requester: isName(requester) ? requester : undefined,
    labels: Object.fromEntries(labels) as Labels,
    walletChain: isWebUrl(rpcUrl) && isName(coin) ? { rpcUrl, coin } : undefined,
  };
}

const parsed = (text: string | null | undefined): Record<string, unknown> => {
  try {
    return JSON.parse(text ?? "{}") ?? {};
  } catch {
    return {};
  }
};

const isWebUrl = (text: unknown): text is string =>
  typeof text === "string" && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
