// Wallets in the browser: found by EIP-6963, asked to send the token's transfer. They sign; this
// page only asks.

import type { AddressRecord, Hex } from "executable-address";
import { useEffect, useState } from "react";
import { transferCalldata } from "./payment.ts";

type Provider = { request(call: { method: string; params?: unknown[] }): Promise<unknown> };
export type Wallet = { info: { uuid: string; name: string }; provider: Provider };

/** The wallets that announced themselves, each once. */
export function useWallets(): Wallet[] {
  const [wallets, setWallets] = useState<Wallet[]>([]);
  useEffect(() => {
    const hear = (event: Event) => {
      const { detail } = event as CustomEvent<Wallet>;
      setWallets((known) =>
        known.some(({ info }) => info.uuid === detail.info.uuid) ? known : [...known, detail],
      );
    };
    window.addEventListener("eip6963:announceProvider", hear);
    window.dispatchEvent(new Event("eip6963:requestProvider"));
    return () => window.removeEventListener("eip6963:announceProvider", hear);
  }, []);
  return wallets;
}

/**
 * Asks `wallet` to pay `amount` base units to the record's address.
 *
 * @returns the transaction's hash
 * @throws {Error} in words for the payer
 */
export async function pay(wallet: Wallet, record: AddressRecord, amount: string): Promise<Hex> {
  const { provider } = wallet;
  const { chainId, token } = record.intent;
  const wanted = `0x${chainId.toString(16)}`;
  try {
    const accounts = (await provider.request({ method: "eth_requestAccounts" })) as string[];
    await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: wanted }] });
    // A wallet that says yes and stays where it was would pay on the wrong chain.
    const present = await provider.request({ method: "eth_chainId" });
    if (Number(present) !== chainId) throw new Error("The wallet stayed on another chain.");
    const hash = await provider.request({
      method: "eth_sendTransaction",
      params: [{ from: accounts[0], to: token, data: transferCalldata(record.address, amount) }],
    });
    return hash as Hex;
  } catch (error) {
    throw new Error(sayRefusal(error, chainId), { cause: error });
  }
}

const sayRefusal = (error: unknown, chainId: number): string => {
  const code = (error as { code?: unknown } | null)?.code;
  if (code === 4001) return "You declined it in the wallet. Nothing was sent.";
  if (code === 4902) return `The wallet does not know chain ${chainId}. Add it there first.`;
  if (error instanceof Error && code === undefined) return error.message;
  return "The wallet refused. Look there for the reason; it may not hold enough.";
};
