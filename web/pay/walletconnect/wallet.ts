// A wallet on another device, as one more wallet of this page. Its library is twice what a
// payer loads otherwise: it comes with the first press, where the operator has a project id.

import type { Wallet } from "executable-address/page";
import { useMemo, useSyncExternalStore } from "react";
import type { Facts } from "../../shown/facts.ts";
import type { Asked, Pairing } from "./walletconnect.ts";

let pairing: Pairing | undefined;
const listeners = new Set<() => void>();

function show(next: Pairing | undefined): void {
  pairing = next;
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const usePairing = () => useSyncExternalStore(subscribe, () => pairing);

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
    let opened: Promise<{ request: (asked: Asked) => Promise<unknown> }> | undefined;
    const open = () => {
      opened ??= import("./walletconnect.ts").then(({ openProvider }) =>
        openProvider({ ...walletConnect, chainId, rpcUrl, show }),
      );
      // A library that did not load may load at the next press.
      opened.catch(() => {
        opened = undefined;
      });
      return opened;
    };
    const request = async (asked: Asked) => (await open()).request(asked);
    const info = { rdns: "org.walletconnect", name: "WalletConnect", uuid: "walletconnect" };
    return { info: { ...info, icon: "" }, provider: { request } };
  }, [walletConnect, walletChain, chainId]);
}
