// A payment from this browser through its whole life: asked for, sent, and followed to its fate,
// also by a page that was loaded again meanwhile.

import type { AddressRecord } from "executable-address";
import { useEffect, useRef, useState } from "react";
import type { EIP1193Provider } from "viem";
import type { Facts } from "../intent/facts.ts";
import { useWalletConnect } from "../walletconnect/wallet.ts";
import type { Fate } from "./fate.ts";
import { type Kept, keep, useKept } from "./kept.ts";
import type { Refusal, Step } from "./send.ts";
import { useWallets, type Wallet } from "./wallets.ts";

type Asking =
  | { is: "idle" }
  | { is: "asking"; wallet: Wallet; step: Step }
  | { is: "refused"; refusal: Refusal };

export type PaymentHere = {
  asking: Asking;
  /** The wallets of this browser. */
  wallets: readonly Wallet[];
  /** The wallet of another device, where the operator offers that. */
  remote: Wallet | undefined;
  /** What this browser has sent, until it is known to have failed or to have arrived. */
  kept: Kept | undefined;
  /** `unwatched`: the wallet that sent it is not there. */
  fate: Fate | { kind: "unwatched" };
  pay: (wallet: Wallet) => void;
  forget: () => void;
};

type Wanted = {
  record: AddressRecord;
  owed: string;
  chainName: string;
  facts: Facts;
};

export function usePayment({ record, owed, chainName, facts }: Wanted): PaymentHere {
  const { address } = record;
  const wallets = useWallets();
  const remote = useWalletConnect(facts, record.intent.chainId);
  const kept = useKept(address);
  const [asking, setAsking] = useState<Asking>({ is: "idle" });
  const sender = [...wallets, remote].find((wallet) => wallet?.info.rdns === kept?.rdns);
  const fate = useFate(record, kept, sender?.provider as EIP1193Provider | undefined);
  const owedNow = useRef(owed);
  owedNow.current = owed;

  const pay = async (wallet: Wallet) => {
    const tell = (step: Step) => setAsking({ is: "asking", wallet, step });
    tell("connect");
    try {
      const { sendPayment, PaymentRefused } = await import("./send.ts");
      await sendPayment(wallet.provider as EIP1193Provider, wallet.info.rdns, {
        record,
        amount: owed,
        chainName,
        walletChain: facts.walletChain,
        owedNow: () => owedNow.current,
        tell,
        sent: (sent) => keep(address, sent),
      }).then(
        () => setAsking({ is: "idle" }),
        (error) => {
          if (!(error instanceof PaymentRefused)) throw error;
          setAsking({ is: "refused", refusal: error.refusal });
        },
      );
    } catch (error) {
      setAsking({ is: "refused", refusal: { kind: "failed", reason: `${error}` } });
    }
  };
  const forget = () => keep(address, undefined);
  return { asking, wallets, remote, kept, fate, pay: (wallet) => void pay(wallet), forget };
}

/** Watched by the provider that sent it. */
function useFate(
  record: AddressRecord,
  kept: Kept | undefined,
  provider: EIP1193Provider | undefined,
): PaymentHere["fate"] {
  const [fate, setFate] = useState<PaymentHere["fate"]>({ kind: "unwatched" });
  const identity = kept && `${kept.from}:${kept.nonce}`;
  const latest = useRef(kept);
  latest.current = kept;
  const { address } = record;
  const { token } = record.intent;

  useEffect(() => {
    const watched = latest.current;
    setFate(provider ? { kind: "pending", isSped: false } : { kind: "unwatched" });
    if (!provider || !watched || !identity) return;
    const stopping = new AbortController();
    void import("./fate.ts").then(({ watchPayment }) =>
      watchPayment(
        provider,
        { token, address, kept: watched },
        setFate,
        (next) => keep(address, next),
        stopping.signal,
      ),
    );
    return () => stopping.abort();
  }, [provider, identity, address, token]);
  return fate;
}
