// Wallets of this browser, found by EIP-6963; and the apps that can open this page in their own.

import { createStore, type EIP6963ProviderDetail } from "mipd";
import { useSyncExternalStore } from "react";
import { hasHidden } from "../intent/inert.ts";

export type Wallet = EIP6963ProviderDetail;

const store = createStore();
let known: readonly Wallet[] = [];
const subscribe = (listener: () => void) =>
  store.subscribe(
    (wallets) => {
      known = wallets;
      listener();
    },
    { emitImmediately: true },
  );

/** The wallets that announced themselves, each once. */
export const useWallets = (): readonly Wallet[] => useSyncExternalStore(subscribe, () => known);

/** Its picture, if it is one that is shown without asking anybody: EIP-6963 wants a data URI. */
export const iconOf = ({ info }: Wallet): string | undefined =>
  /^data:image\/(svg\+xml|png|webp|jpeg|gif)[;,]/.test(info.icon) ? info.icon : undefined;

const nameMax = 40;

/** The name it gives itself, unless that could not be shown as it stands. */
export const nameOf = ({ info }: Wallet): string =>
  hasHidden(info.name) || info.name.length > nameMax ? info.rdns : info.name;

/**
 * Wallet apps that open a page inside by a link: as they document it, Rainbow as its app's source
 * has it (`src/handlers/deeplinks.ts`). `page` is an absolute URL.
 */
export const walletApps: readonly { name: string; link: (page: string) => string }[] = [
  {
    name: "MetaMask",
    link: (page) => `https://link.metamask.io/dapp/${page.replace(/^https?:\/\//, "")}`,
  },
  {
    name: "Coinbase Wallet",
    link: (page) => `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`,
  },
  {
    name: "Rainbow",
    link: (page) => `https://rnbwapp.com/dapp?url=${encodeURIComponent(page)}`,
  },
  {
    name: "Trust Wallet",
    link: (page) =>
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(page)}`,
  },
];
