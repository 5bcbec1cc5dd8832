// Reads what the operator says about an address in the page as it was served: names, and what a
// wallet needs to know of a chain. Without a server there is nothing, and the page says less.

import { isName } from "executable-address-element/page";
import type { Labels } from "./reading.ts";

export type Facts = {
  /** The name of the account that made the address, if the operator has confirmed it. */
  readonly asker: string | undefined;
  readonly labels: Labels;
  /** For wallets that do not know the address's chain: an RPC URL for everybody, and its coin. */
  readonly walletChain: { readonly rpcUrl: string; readonly coin: string } | undefined;
};

const labelsMax = 200;

/** Never throws; what could not be shown as it stands is left out. */
export function readFacts(text: string | null | undefined): Facts {
  const found = parsed(text);
  const labels = Object.entries((found.labels ?? {}) as Record<string, unknown>)
    .slice(0, labelsMax)
    .filter(([address, name]) => /^0x[0-9a-f]{40}$/.test(address) && isName(name));
  const { asker } = found;
  const { rpcUrl, coin } = (found.walletChain ?? {}) as Record<string, unknown>;
  return {
    asker: isName(asker) ? asker : undefined,
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
