// Wallets of this browser, payments by them, and the apps that can open this page.

import type { ServiceStatus } from "executable-address/status";
import {
  ask,
  coins,
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
import type { Facts } from "../../shown/facts.ts";

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

type WalletPayment = {
  view: WalletView;
  wallets: readonly Wallet[];
  pay: (wallet: Wallet) => void;
};

const offered: WalletView = { is: "offered", messages: [] };

/** Follows a payment by a wallet of this browser while the page of its address is open. */
export function useWalletFlow(
  standing: Standing,
  status: ServiceStatus | undefined,
): WalletPayment {
  const { record, chainName, facts } = useAbout();
  const walletChain = facts.walletChain ?? findKnownChain(record.intent.chainId);
  const now = useRef<PaymentNow>(undefined);
  now.current = { record, standing, status, chainName, walletChain };
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
 * For wallets that do not know a chain: the chains of service/chains.json, with the RPC URL that
 * each chain's own documentation gives to the public.
 */
const rpcUrls: Readonly<Record<number, string>> = {
  1: "https://ethereum-rpc.publicnode.com",
  10: "https://mainnet.optimism.io",
  137: "https://polygon-rpc.com",
  8453: "https://mainnet.base.org",
  42161: "https://arb1.arbitrum.io/rpc",
  43114: "https://api.avax.network/ext/bc/C/rpc",
};

function findKnownChain(chainId: number): Facts["walletChain"] {
  const [rpcUrl, coin] = [rpcUrls[chainId], coins[chainId]];
  return rpcUrl && coin ? { rpcUrl, coin } : undefined;
}

/** Returns the wallet's icon if it is a data URI, as EIP-6963 requires: it makes no request. */
export const findIcon = ({ info }: Wallet): string | undefined =>
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
