// The dashboard of `npm start` pays by a press. The browser asks the local chain's node, which
// signs for accounts of its own, so no route pays and this server has no payer's key.

import { localHosts } from "../../accounts/origins/origins.ts";
import type { Chain } from "../../chain/chains.ts";

/** Anvil and hardhat have it; no chain with money does. */
const localChainId = 31_337;

/**
 * URL of the node that the dashboard may ask to pay; undefined for any other chain, and where node
 * or dashboard is not reached on the reader's own machine.
 */
export function findLocalNode(
  { chainId, wallet }: Pick<Chain, "chainId" | "wallet">,
  publicUrl: string,
): string | undefined {
  if (chainId !== localChainId || !wallet) return undefined;
  const isHere = (url: string) => localHosts.includes(new URL(url).hostname);
  return isHere(wallet.rpcUrl) && isHere(publicUrl) ? wallet.rpcUrl : undefined;
}
