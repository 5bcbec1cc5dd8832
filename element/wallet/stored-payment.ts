// Stores the payment that this browser requests from a wallet, from just before the request until
// its fate is final. A reloaded page or a second tab must not offer another payment.

import type { Hex } from "executable-address";
import { forget, recall, remember } from "../storage.ts";

export type StoredPayment = {
  /**
   * Missing while the wallet waits for the user, or if the page was closed before the wallet
   * responded.
   */
  hash?: Hex;
  from: Hex;
  /** The sender's nonce at the time of the request. The wallet may choose a higher nonce. */
  nonce: number;
  chainId: number;
  /** Decimal, in base units. */
  amount: string;
  /** The EIP-6963 name (rdns) of the wallet. */
  rdns: string;
  sinceMs: number;
  /** The newest block at the time of the request. */
  fromBlock: number;
  /**
   * True if the wallet did not return the hash, and a transaction of the same account with the same
   * transfer was found on the chain instead.
   */
  isFound?: boolean;
  /** True if the transaction with this hash has reached the address. */
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

/** Calls `listener` when this or another tab stores or forgets a payment. */
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
 * Returns the stored payment, or undefined if this code did not write the stored text. Returns the
 * same object as long as the stored text is the same.
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
