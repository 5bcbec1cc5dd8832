// A payment from this browser through its whole life: asked for, sent, and followed to its fate,
// also by a page that was loaded again meanwhile.

import type { AddressRecord } from "executable-address";
import {
  type Fate,
  findKept,
  isOver,
  type Kept,
  keep,
  onKept,
  PaymentRefused,
  type Refusal,
  type Standing,
  type Step,
  sendPayment,
  type Wallet,
  type WalletProvider,
  watchPayment,
} from "executable-address-element/page";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Facts } from "../../shown/facts.ts";
import { knownChain } from "./known-chains.ts";
import { useWallets } from "./wallets.ts";

type Asking =
  | { is: "idle" }
  | { is: "asking"; wallet: Wallet; step: Step }
  | { is: "refused"; refusal: Refusal };

export type PaymentHere = {
  asking: Asking;
  /** The wallets of this browser. */
  wallets: readonly Wallet[];
  /** The payment that this browser asks for or has sent, until it has failed or arrived. */
  kept: Kept | undefined;
  /** `unwatched`: the wallet that was asked is not there. */
  fate: Fate | { kind: "unwatched" };
  pay: (wallet: Wallet) => void;
  forget: () => void;
};

type Wanted = {
  record: AddressRecord;
  standing: Standing;
  chainName: string;
  facts: Facts;
};

export function usePayment({ record, standing, chainName, facts }: Wanted): PaymentHere {
  const { address, intent } = record;
  const wallets = useWallets();
  const kept = useSyncExternalStore(onKept, () => findKept(address));
  const [asking, setAsking] = useState<Asking>({ is: "idle" });
  const asked = wallets.find(({ info }) => info.rdns === kept?.rdns);
  const fate = useFate(record, kept, asked?.provider);
  const now = useRef(standing);
  now.current = standing;

  const pay = async (wallet: Wallet) => {
    const tell = (step: Step) => setAsking({ is: "asking", wallet, step });
    try {
      await sendPayment(wallet.provider, wallet.info.rdns, {
        record,
        amount: standing.owed,
        chainName,
        walletChain: facts.walletChain ?? knownChain(intent.chainId),
        // Over meanwhile: unless that was known and paying was insisted on, nothing is to be paid.
        owedNow: () => (isOver(now.current) && !isOver(standing) ? "0" : now.current.owed),
        tell,
      });
      setAsking({ is: "idle" });
    } catch (error) {
      const isRefused = error instanceof PaymentRefused;
      const refusal = isRefused ? error.refusal : { kind: "failed" as const, reason: `${error}` };
      setAsking({ is: "refused", refusal });
    }
  };
  const forget = () => keep(address, undefined);
  return { asking, wallets, kept, fate, pay: (wallet) => void pay(wallet), forget };
}

/** Watched by the provider that was asked. */
function useFate(
  { address, intent: { token } }: AddressRecord,
  kept: Kept | undefined,
  provider: WalletProvider | undefined,
): PaymentHere["fate"] {
  const [fate, setFate] = useState<PaymentHere["fate"]>({ kind: "unwatched" });
  // A payment under another hash is still the one that is watched; what was found is another.
  const identity = kept && `${kept.from}:${kept.nonce}:${kept.hash === undefined}`;
  const latest = useRef(kept);
  latest.current = kept;

  useEffect(() => {
    const watched = latest.current;
    if (!provider || !watched || !identity) return setFate({ kind: "unwatched" });
    setFate(watched.hash ? { kind: "pending", isSped: false } : { kind: "asking" });
    const stopping = new AbortController();
    const { signal } = stopping;
    const onFound = (next: Kept) => keep(address, next);
    void watchPayment(provider, { token, address, kept: watched }, setFate, onFound, signal);
    return () => stopping.abort();
  }, [provider, identity, address, token]);
  return fate;
}
