// Finds the wallets of this browser. Wallets announce themselves by EIP-6963. The older interface
// `window.ethereum` is used if no wallet announces itself within 300 ms.

import { isName } from "executable-address/payment";
import type { WalletProvider } from "./provider.ts";

export type Wallet = {
  readonly info: {
    readonly uuid: string;
    readonly name: string;
    readonly icon: string;
    readonly rdns: string;
  };
  readonly provider: WalletProvider;
};

/** The page's own identifier for the wallet in `window.ethereum`. This wallet reports no `rdns`. */
const injectedRdns = "window.ethereum";
const patienceMs = 300;

/**
 * Calls `report` with all known wallets whenever a new wallet is found. The returned function stops
 * the search.
 */
export function followWallets(report: (wallets: readonly Wallet[]) => void): () => void {
  let known: readonly Wallet[] = [];
  const hear = ({ detail }: CustomEvent<Wallet>) => {
    if (known.some(({ info }) => info.uuid === detail?.info?.uuid) || !isWallet(detail)) return;
    known = [...known.filter(({ info }) => info.rdns !== injectedRdns), detail];
    report(known);
  };
  const listener = hear as unknown as (event: Event) => void;
  window.addEventListener("eip6963:announceProvider", listener);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  const timer = setTimeout(() => {
    const { ethereum: provider } = globalThis as { ethereum?: WalletProvider };
    if (known.length > 0 || typeof provider?.request !== "function") return;
    known = [{ info: { uuid: injectedRdns, name: "", icon: "", rdns: injectedRdns }, provider }];
    report(known);
  }, patienceMs);
  return () => {
    clearTimeout(timer);
    window.removeEventListener("eip6963:announceProvider", listener);
  };
}

const nameMax = 40;

/**
 * Returns the wallet's own name if the name is safe to show, otherwise its `rdns`.
 * @param injected the name to return for the wallet in `window.ethereum`, which reports no name
 */
export function sayWalletName({ info }: Wallet, injected: string): string {
  if (info.rdns === injectedRdns) return injected;
  return isName(info.name, nameMax) ? info.name : info.rdns;
}

const isWallet = ({ info, provider }: Partial<Wallet>) =>
  typeof provider?.request === "function" &&
  [info?.uuid, info?.name, info?.icon, info?.rdns].every((text) => typeof text === "string");
