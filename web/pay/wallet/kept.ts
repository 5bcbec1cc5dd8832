// The payment this browser has sent for an address, kept until its fate is known: a page that is
// loaded again must not offer a second one.

import type { Hex } from "executable-address";
import { useSyncExternalStore } from "react";

export type Kept = {
  hash: Hex;
  from: Hex;
  nonce: number;
  chainId: number;
  /** Base units, decimal. */
  amount: string;
  /** Of the wallet that sent it: EIP-6963. */
  rdns: string;
  sentAtMs: number;
  /** The newest block when it was sent. */
  fromBlock: number;
};

const keyOf = (address: Hex) => `payment:${address.toLowerCase()}`;
const listeners = new Set<() => void>();
/** What a browser that keeps nothing remembers until the page is closed. */
const fallback = new Map<string, string>();

export function keep(address: Hex, payment: Kept | undefined): void {
  const key = keyOf(address);
  const text = payment && JSON.stringify(payment);
  if (text) fallback.set(key, text);
  else fallback.delete(key);
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
  } catch {
    // Storage may be full or forbidden; the page remembers as long as it is open.
  }
  for (const listener of listeners) listener();
}

/** Also when another tab sends or forgets one. */
export function useKept(address: Hex): Kept | undefined {
  const text = useSyncExternalStore(subscribe, () => textOf(keyOf(address)));
  return readKept(text);
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
};

const textOf = (key: string): string | undefined => {
  try {
    return localStorage.getItem(key) ?? fallback.get(key);
  } catch {
    return fallback.get(key);
  }
};

let last: { text: string | undefined; kept: Kept | undefined } | undefined;

/** The same text gives the same object. Undefined for what no page of ours has written. */
function readKept(text: string | undefined): Kept | undefined {
  if (last && last.text === text) return last.kept;
  const kept = parsed(text);
  last = { text, kept };
  return kept;
}

function parsed(text: string | undefined): Kept | undefined {
  try {
    const found: Kept = JSON.parse(text ?? "");
    const isWhole =
      /^0x[0-9a-f]{64}$/i.test(found.hash) &&
      /^0x[0-9a-f]{40}$/i.test(found.from) &&
      /^[0-9]{1,78}$/.test(found.amount) &&
      typeof found.rdns === "string" &&
      [found.nonce, found.chainId, found.sentAtMs, found.fromBlock].every(Number.isSafeInteger);
    return isWhole ? found : undefined;
  } catch {
    return undefined;
  }
}
