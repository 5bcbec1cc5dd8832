// Finds the local node for the dashboard's payment button in a local setup (`npm start`). The
// browser sends the payment to the node, which signs it with one of its accounts. So this server
// has neither a route for payments nor a payer's key.

import { localHosts } from "../../accounts/origins/origins.ts";
import { type Chain, localChainId } from "../../chain/chains.ts";

/**
 * Returns the URL of a node that can send payments for the dashboard. Returns undefined unless the
 * chain is local. The node and the dashboard must be on the user's own machine.
 */
export function findLocalNode(
  { chainId, wallet }: Pick<Chain, "chainId" | "wallet">,
  publicUrl: string,
): string | undefined {
  if (chainId !== localChainId || !wallet) return undefined;
  const isHere = (url: string) => localHosts.includes(new URL(url).hostname);
  return isHere(wallet.rpcUrl) && isHere(publicUrl) ? wallet.rpcUrl : undefined;
}
