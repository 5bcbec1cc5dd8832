// A wallet on another device, as one more wallet of this page. Its library is twice what a
// payer loads otherwise: it comes with the first press, where the operator has a project id.

import type { Wallet, WalletProvider } from "executable-address/page";
import { useMemo } from "react";
import type { Facts } from "../../shown/facts.ts";
import { openOutside } from "../../ui/outside.ts";
import type { Pairing } from "./walletconnect.ts";

const pairing = openOutside<Pairing | undefined>(undefined);

export const usePairing = pairing.useValue;

/** Undefined without a project id. */
export function useWalletConnect(
  { walletConnect, walletChain }: Facts,
  chainId: number,
): Wallet | undefined {
  return useMemo(() => {
    if (!walletConnect) return undefined;
    const { projectId } = walletConnect;
    const rpcUrl =
      walletChain?.rpcUrl ??
      `https://rpc.walletconnect.org/v1/?chainId=eip155:${chainId}&projectId=${projectId}`;
    let opened: Promise<WalletProvider> | undefined;
    const open = () => {
      opened ??= import("./walletconnect.ts").then(({ openProvider }) =>
        openProvider({ ...walletConnect, chainId, rpcUrl, show: pairing.set }),
      );
      // A library that did not load may load at the next press.
      opened.catch(() => {
        opened = undefined;
      });
      return opened;
    };
    const request: WalletProvider["request"] = async (asked) => (await open()).request(asked);
    const info = { rdns: "org.walletconnect", name: "WalletConnect", uuid: "walletconnect" };
    return { info: { ...info, icon: "" }, provider: { request } };
  }, [walletConnect, walletChain, chainId]);
}
