// The wallets in this browser, payments by these wallets, and apps that can open this page.

import type { ServiceStatus } from "executable-address/status";
import {
  ask,
  followWallets,
  openWalletFlow,
  type PaymentNow,
  type Standing,
  type Wallet,
  type WalletFlow,
  type WalletView,
} from "executable-address-element/page";
import { useEffect, useReducer, useRef, useState } from "react";
import { useAbout } from "../../shown/about.tsx";

/** Returns the wallets found so far, without duplicates. */
export function useWallets(): readonly Wallet[] {
  const [wallets, setWallets] = useState<readonly Wallet[]>([]);
  useEffect(() => followWallets(setWallets), []);
  return wallets;
}

/** Returns the accounts that wallets in this browser reveal without a prompt. */
export function useAccounts(): readonly string[] {
  const wallets = useWallets();
  const [accounts, setAccounts] = useState<readonly string[]>([]);
  useEffect(() => {
    const shown = ({ provider }: Wallet) => ask<string[]>(provider, "eth_accounts").catch(() => []);
    void Promise.all(wallets.map(shown)).then((found) => setAccounts(found.flat()));
  }, [wallets]);
  return accounts;
}

type WalletPayment = {
  view: WalletView;
  wallets: readonly Wallet[];
  pay: (wallet: Wallet) => void;
};

const offered: WalletView = { is: "offered", messages: [] };

/** Follows a payment by a wallet in this browser while the page is open. */
export function useWalletFlow(
  standing: Standing,
  status: ServiceStatus | undefined,
): WalletPayment {
  const { record, chainName, facts } = useAbout();
  const now = useRef<PaymentNow>(undefined);
  now.current = { record, standing, status, chainName, walletChain: facts.walletChain };
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [flow, setFlow] = useState<WalletFlow>();
  useEffect(() => {
    const opened = openWalletFlow({
      baseUrl: "/v1",
      now: () => now.current,
      change: () => redraw(),
    });
    setFlow(opened);
    return () => opened.stop();
  }, []);
  return {
    view: flow?.view() ?? offered,
    wallets: flow?.wallets() ?? [],
    pay: (wallet) => flow?.pay(wallet),
  };
}

/**
 * Returns the wallet's icon if it is a data URI, as EIP-6963 requires. A data URI causes no
 * request.
 */
export const findIcon = ({ info }: Wallet): string | undefined =>
  /^data:image\/(svg\+xml|png|webp|jpeg|gif)[;,]/.test(info.icon) ? info.icon : undefined;

/**
 * Links that open a page in a wallet app. `page` is an absolute URL. The links come from each app's
 * documentation. Rainbow's link comes from the app's source code, `src/handlers/deeplinks.ts`.
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
