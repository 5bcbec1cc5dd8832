// Stores the payment that this browser requests from a wallet. The payment stays stored from just
// before the request until its outcome is final. Without the stored payment, a reloaded page or a
// second tab could offer to pay again.

import { type Hex, isAddress, isHash } from "executable-address";
import { forget, recall, remember } from "./storage.ts";

export type StoredPayment = {
  /** Missing until the wallet responds, or if the page was closed before that. */
  hash?: Hex;
  from: Hex;
  /** The sender's nonce when the payment was requested. The wallet may use a higher nonce. */
  nonce: number;
  chainId: number;
  /** Decimal, in base units. */
  amount: string;
  /** The wallet's EIP-6963 name (rdns). */
  rdns: string;
  sinceMs: number;
  /** The newest block when the payment was requested. */
  fromBlock: number;
  /** True if the wallet returned no hash, and the transaction was found on the chain instead. */
  isFound?: boolean;
  /** True if the payment's transaction has reached the address. */
  isArrived?: boolean;
};

const writeKey = (address: Hex) => `payment:${address.toLowerCase()}`;
const listeners = new Set<() => void>();

export function storePayment(address: Hex, payment: StoredPayment): void {
  remember(writeKey(address), JSON.stringify(payment));
  for (const listener of listeners) listener();
}

export function forgetStoredPayment(address: Hex): void {
  forget(writeKey(address));
  for (const listener of listeners) listener();
}

/** Calls `listener` when any tab stores or deletes a payment. */
export function onStoredPayment(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

let last: { text: string | undefined; stored: StoredPayment | undefined } | undefined;

/**
 * Returns the stored payment, or undefined if the stored text is invalid. Returns the same object
 * until the stored text changes.
 */
export function findStoredPayment(address: Hex): StoredPayment | undefined {
  const text = recall(writeKey(address));
  if (last?.text !== text || !last) last = { text, stored: parsed(text) };
  return last.stored;
}

function parsed(text: string | undefined): StoredPayment | undefined {
  try {
    const found: StoredPayment = JSON.parse(text ?? "");
    const isWhole =
      (found.hash === undefined || isHash(found.hash)) &&
      isAddress(found.from) &&
      /^[0-9]{1,78}$/.test(found.amount) &&
      typeof found.rdns === "string" &&
      [found.nonce, found.chainId, found.sinceMs, found.fromBlock].every(Number.isSafeInteger);
    return isWhole ? found : undefined;
  } catch {
    return undefined;
  }
}
