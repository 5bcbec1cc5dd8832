// Finds the local node for the dashboard's button that pays an address in a local setup (`npm
// start`). The browser sends the payment to the local node, which signs the payment with an account
// of the node. So this server has neither a route for payments nor a payer's key.

import { localHosts } from "../../accounts/origins/origins.ts";
import { type Chain, localChainId } from "../../chain/chains.ts";

/**
 * Returns the URL of a node that can send payments for the dashboard. Returns undefined if the
 * chain is not local, or if the node or the dashboard is not on the user's own machine.
 */
export function findLocalNode(
  { chainId, wallet }: Pick<Chain, "chainId" | "wallet">,
  publicUrl: string,
): string | undefined {
  if (chainId !== localChainId || !wallet) return undefined;
  const isHere = (url: string) => localHosts.includes(new URL(url).hostname);
  return isHere(wallet.rpcUrl) && isHere(publicUrl) ? wallet.rpcUrl : undefined;
}
