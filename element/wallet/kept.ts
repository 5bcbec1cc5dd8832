// The payment this browser asks a wallet for, from just before it is asked until its fate is known:
// a page that is loaded again, or a second tab, must not offer another.

import type { Hex } from "executable-address";
import { forget, recall, remember } from "../storage.ts";

export type Kept = {
  /** Absent while the wallet asks its person, and where the page that asked is gone. */
  hash?: Hex;
  from: Hex;
  /** The sender's nonce when it was asked; the wallet may choose a later one. */
  nonce: number;
  chainId: number;
  /** Base units, decimal. */
  amount: string;
  /** The wallet that was asked, by its EIP-6963 name. */
  rdns: string;
  sinceMs: number;
  /** The newest block when it was asked. */
  fromBlock: number;
  /** The hash is of the same transfer by the same account on the chain, not the wallet's answer. */
  isFound?: boolean;
  /** The transaction with this hash has reached the address. */
  isArrived?: boolean;
};

const writeKey = (address: Hex) => `payment:${address.toLowerCase()}`;
const listeners = new Set<() => void>();

export function keep(address: Hex, payment: Kept | undefined): void {
  if (payment) remember(writeKey(address), JSON.stringify(payment));
  else forget(writeKey(address));
  for (const listener of listeners) listener();
}

/** Calls `listener` also when another tab keeps or forgets one. */
export function onKept(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

let last: { text: string | undefined; kept: Kept | undefined } | undefined;

/** The same text gives the same object. Undefined for what no page of ours has written. */
export function findKept(address: Hex): Kept | undefined {
  const text = recall(writeKey(address));
  if (last?.text !== text || !last) last = { text, kept: parsed(text) };
  return last.kept;
}

function parsed(text: string | undefined): Kept | undefined {
  try {
    const found: Kept = JSON.parse(text ?? "");
    const isWhole =
      (found.hash === undefined || /^0x[0-9a-f]{64}$/i.test(found.hash)) &&
      /^0x[0-9a-f]{40}$/i.test(found.from) &&
      /^[0-9]{1,78}$/.test(found.amount) &&
      typeof found.rdns === "string" &&
      [found.nonce, found.chainId, found.sinceMs, found.fromBlock].every(Number.isSafeInteger);
    return isWhole ? found : undefined;
  } catch {
    return undefined;
  }
}
