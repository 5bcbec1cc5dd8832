import type { ServiceStatus } from "executable-address/status";
import {
  openWalletFlow,
  type PaymentNow,
  type Standing,
  type Wallet,
  type WalletFlow,
  type WalletView,
} from "executable-address-element/page";
import { useEffect, useReducer, useRef, useState } from "react";
import { useAbout } from "../../shown/about.tsx";
import { knownChain } from "./known-chains.ts";

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
  const walletChain = facts.walletChain ?? knownChain(record.intent.chainId);
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
