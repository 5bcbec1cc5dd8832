// The public page reaches WalletConnect, for wallets on other devices, if the operator has a
// project id. Else it reaches nothing beyond this server.

import type { Chains } from "../../../chain/registry.ts";

export type WalletConnect = {
  /** 32 hex digits that WalletConnect gave the operator. They are public: each page shows them. */
  projectId: string;
  /** `wss://…` */
  relayUrl: string;
};

type Settings = {
  walletConnectProjectId: string | undefined;
  walletConnectRelay: string | undefined;
};

export const walletConnectOf = ({
  walletConnectProjectId: projectId,
  walletConnectRelay: relayUrl = "wss://relay.walletconnect.org",
}: Settings): WalletConnect | undefined => (projectId ? { projectId, relayUrl } : undefined);

type Reached = { walletConnect?: WalletConnect | undefined; chains: Pick<Chains, "known"> };

/** Sources for the page's policy. */
export type Reach = { connect: readonly string[]; frame: readonly string[] };

/** The relay between the two devices, endpoints that tell what any node knows, the attestation. */
export function reachOf({ walletConnect, chains }: Reached): Reach | undefined {
  if (!walletConnect) return undefined;
  const nodes = chains.known.flatMap(({ wallet }) => wallet?.rpcUrl ?? []);
  const reached = [walletConnect.relayUrl, "https://rpc.walletconnect.org", ...nodes];
  return {
    connect: [...new Set(reached.map((url) => new URL(url).origin))],
    // Wallets attest by it which page asks.
    frame: ["https://verify.walletconnect.org"],
  };
}
