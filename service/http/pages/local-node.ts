// With `npm start`, the dashboard has a button that pays an address. The browser sends the payment
// to the local chain's node, which signs for its own accounts. So this server needs neither a route
// for payments nor a payer's key.

import { localHosts } from "../../accounts/origins/origins.ts";
import type { Chain } from "../../chain/chains.ts";

/** The chain ID of anvil and Hardhat; no chain with real money has it. */
const localChainId = 31_337;

/**
 * Returns the URL of the node that can send the dashboard's payments. Returns undefined unless the
 * chain is a local chain, and both the node and the dashboard are on the user's own machine.
 */
export function findLocalNode(
  { chainId, wallet }: Pick<Chain, "chainId" | "wallet">,
  publicUrl: string,
): string | undefined {
  if (chainId !== localChainId || !wallet) return undefined;
  const isHere = (url: string) => localHosts.includes(new URL(url).hostname);
  return isHere(wallet.rpcUrl) && isHere(publicUrl) ? wallet.rpcUrl : undefined;
}
