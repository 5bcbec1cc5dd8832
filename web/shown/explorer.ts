// Links to the chain's block explorer, for people. The server names it, so only what is certainly a
// page of the web elsewhere becomes a link.

/**
 * Gives a link by EIP-3091, or undefined where there is none to trust with a click.
 *
 * @param base as a status has it; anything
 */
export function explorerLink(
  base: unknown,
  kind: "address" | "tx",
  hex: string,
): string | undefined {
  const url = typeof base === "string" && URL.canParse(base) ? new URL(base) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash;
  if (!isPlain || url.username || url.password) return undefined;
  if (!/^0x([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/.test(hex)) return undefined;
  return `${url.href.replace(/\/+$/, "")}/${kind}/${hex}`;
}
