// Links to the chain's block explorer. The server provides the URL, so it becomes a link only if it
// is certainly harmless.

import { isAddress, isHash } from "executable-address";

/**
 * Returns a link to a block explorer (EIP-3091). Returns undefined if the URL is not safe to open.
 * @param base the explorer's URL from a status. The URL is not verified
 */
export function explorerLink(
  base: unknown,
  kind: "address" | "tx",
  hex: string,
): string | undefined {
  const url = typeof base === "string" && URL.canParse(base) ? new URL(base) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash;
  if (!isPlain || url.username || url.password) return undefined;
  if (!isAddress(hex) && !isHash(hex)) return undefined;
  return `${url.href.replace(/\/+$/, "")}/${kind}/${hex}`;
}
