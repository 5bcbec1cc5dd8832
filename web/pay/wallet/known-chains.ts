// For wallets that do not know a chain: the chains of service/chains.json, with the RPC URL that
// each chain's own documentation gives to the public.

import { coins } from "executable-address-element/page";
import type { Facts } from "../../shown/facts.ts";

const rpcUrls: Readonly<Record<number, string>> = {
  1: "https://ethereum-rpc.publicnode.com",
  10: "https://mainnet.optimism.io",
  137: "https://polygon-rpc.com",
  8453: "https://mainnet.base.org",
  42161: "https://arb1.arbitrum.io/rpc",
  43114: "https://api.avax.network/ext/bc/C/rpc",
};

export function knownChain(chainId: number): Facts["walletChain"] {
  const [rpcUrl, coin] = [rpcUrls[chainId], coins[chainId]];
  return rpcUrl && coin ? { rpcUrl, coin } : undefined;
}
