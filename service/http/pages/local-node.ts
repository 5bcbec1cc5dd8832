// The dashboard of `npm start` can pay with a button. The browser asks the local chain's node,
// which signs for its own accounts, so this server has no route that pays and no key of a payer.

import { localHosts } from "../../accounts/origins/origins.ts";
import type { Chain } from "../../chain/chains.ts";

/** The chain ID of anvil and Hardhat; no chain with real money has it. */
const localChainId = 31_337;

/**
 * The URL of the node that the dashboard can ask to pay; undefined for any other chain, and if node
 * or dashboard is not on the reader's own machine.
 */
export function findLocalNode(
  { chainId, wallet }: Pick<Chain, "chainId" | "wallet">,
  publicUrl: string,
): string | undefined {
  if (chainId !== localChainId || !wallet) return undefined;
  const isHere = (url: string) => localHosts.includes(new URL(url).hostname);
  return isHere(wallet.rpcUrl) && isHere(publicUrl) ? wallet.rpcUrl : undefined;
}
