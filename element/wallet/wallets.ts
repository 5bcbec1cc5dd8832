// Wallets of this browser: those that announce themselves by EIP-6963, and where after 300 ms none
// has, the one that an older wallet puts into the page.

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

/** `rdns` of `window.ethereum`, which has no name of its own. */
const injectedRdns = "window.ethereum";
const patienceMs = 300;

/** Tells the wallets, each once, whenever one is found, until the answer is called. */
export function followWallets(tell: (wallets: readonly Wallet[]) => void): () => void {
  let known: readonly Wallet[] = [];
  const hear = ({ detail }: CustomEvent<Wallet>) => {
    if (known.some(({ info }) => info.uuid === detail?.info?.uuid) || !isWallet(detail)) return;
    known = [...known.filter(({ info }) => info.rdns !== injectedRdns), detail];
    tell(known);
  };
  const listener = hear as unknown as (event: Event) => void;
  window.addEventListener("eip6963:announceProvider", listener);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  const timer = setTimeout(() => {
    const { ethereum: provider } = globalThis as { ethereum?: WalletProvider };
    if (known.length > 0 || typeof provider?.request !== "function") return;
    known = [{ info: { uuid: injectedRdns, name: "", icon: "", rdns: injectedRdns }, provider }];
    tell(known);
  }, patienceMs);
  return () => {
    clearTimeout(timer);
    window.removeEventListener("eip6963:announceProvider", listener);
  };
}

const nameMax = 40;

/**
 * The name it gives itself, unless that could not be shown as it stands.
 *
 * @param injected the name of `window.ethereum`, which has none
 */
export function sayWalletName({ info }: Wallet, injected: string): string {
  if (info.rdns === injectedRdns) return injected;
  return isName(info.name, nameMax) ? info.name : info.rdns;
}

const isWallet = ({ info, provider }: Partial<Wallet>) =>
  typeof provider?.request === "function" &&
  [info?.uuid, info?.name, info?.icon, info?.rdns].every((text) => typeof text === "string");
