// A payment from this browser through its whole life: asked for, sent, and followed to its fate,
// also by a page that was loaded again meanwhile.

import type { AddressRecord } from "executable-address";
import { useEffect, useRef, useState } from "react";
import type { EIP1193Provider } from "viem";
import type { Facts } from "../intent/facts.ts";
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
  walletChain: Facts["walletChain"];
};

export function usePayment({ record, owed, chainName, walletChain }: Wanted): PaymentHere {
  const { address } = record;
  const kept = useKept(address);
  const [asking, setAsking] = useState<Asking>({ is: "idle" });
  const fate = useFate(record, kept);
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
        walletChain,
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
  return { asking, kept, fate, pay: (wallet) => void pay(wallet), forget };
}

/** Watched by the provider that sent it. */
function useFate(record: AddressRecord, kept: Kept | undefined): PaymentHere["fate"] {
  const wallets = useWallets();
  const [fate, setFate] = useState<PaymentHere["fate"]>({ kind: "unwatched" });
  const provider = wallets.find(({ info }) => info.rdns === kept?.rdns)?.provider;
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
        provider as EIP1193Provider,
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
