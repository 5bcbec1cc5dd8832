// For wallets that do not know a chain: the chains of service/chains.json, with the RPC URL that
// each chain's own documentation gives to the public.

type WalletChain = { readonly rpcUrl: string; readonly coin: string };

export const knownChains: Readonly<Record<number, WalletChain>> = {
  1: { rpcUrl: "https://ethereum-rpc.publicnode.com", coin: "ETH" },
  10: { rpcUrl: "https://mainnet.optimism.io", coin: "ETH" },
  137: { rpcUrl: "https://polygon-rpc.com", coin: "POL" },
  8453: { rpcUrl: "https://mainnet.base.org", coin: "ETH" },
  42161: { rpcUrl: "https://arb1.arbitrum.io/rpc", coin: "ETH" },
  43114: { rpcUrl: "https://api.avax.network/ext/bc/C/rpc", coin: "AVAX" },
};
