// Wallets of this browser, as the page shows them, and the apps that can open this page.

import { ask, followWallets, type Wallet } from "executable-address-element/page";
import { useEffect, useState } from "react";

/** The wallets that are found, each once. */
export function useWallets(): readonly Wallet[] {
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  useEffect(() => followWallets(setWallets), []);
  return wallets;
}

/** The accounts that the wallets of this browser show without asking anybody. */
export function useAccounts(): readonly string[] {
  const wallets = useWallets();
  const [accounts, setAccounts] = useState<readonly string[]>([]);
  useEffect(() => {
    const shown = ({ provider }: Wallet) => ask<string[]>(provider, "eth_accounts").catch(() => []);
    void Promise.all(wallets.map(shown)).then((found) => setAccounts(found.flat()));
  }, [wallets]);
  return accounts;
}

/** Its picture, if it is one that is shown without asking anybody: EIP-6963 wants a data URI. */
export const iconOf = ({ info }: Wallet): string | undefined =>
  /^data:image\/(svg\+xml|png|webp|jpeg|gif)[;,]/.test(info.icon) ? info.icon : undefined;

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
