// A payment by a wallet, for the element: asked for, followed to its fate, and said in words.

import type { AddressRecord } from "executable-address";
import { formatUnits, shortAddress } from "executable-address/payment";
import { type ElementWords, fill } from "../words.ts";
import { coinDecimals } from "./coins.ts";
import { type Fate, isFinal, watchPayment } from "./fate.ts";
import { findKept, keep, onKept } from "./kept.ts";
import { PaymentRefused, type Refusal } from "./provider.ts";
import { type Step, sendPayment } from "./send.ts";
import { followWallets, nameOf, type Wallet } from "./wallets.ts";

/** The payment of this moment, and its words. */
export type Asked = {
  record: AddressRecord;
  owed: string;
  chainName: string;
  sayAmount: (units: string) => string;
  words: ElementWords;
};

export type WalletPanel = {
  /** The buttons that can be offered. */
  wallets(words: ElementWords): readonly { name: string; pay: () => void }[];
  /** Undefined while no wallet was asked. */
  state(asked: Asked): { text: string; busy: boolean; forget?: () => void } | undefined;
  stop(): void;
};

/** @param change called whenever something else is to be drawn */
export function openWallets(asked: () => Asked | undefined, change: () => void): WalletPanel {
  let found: readonly Wallet[] = [];
  let step: Step | undefined;
  let refusal: Refusal | undefined;
  const watcher = watchKept(() => asked()?.record, change);
  const changed = () => {
    watcher.look(found);
    change();
  };
  const stops = [
    watcher.stop,
    onKept(changed),
    followWallets((wallets) => {
      found = wallets;
      changed();
    }),
  ];

  const pay = async ({ provider, info }: Wallet) => {
    const now = asked();
    if (!now || step) return;
    refusal = undefined;
    const tell = (next: Step | undefined) => {
      step = next;
      change();
    };
    const order = { ...now, amount: now.owed, walletChain: undefined, tell };
    const owedNow = () => asked()?.owed ?? "0";
    try {
      await sendPayment(provider, info.rdns, { ...order, owedNow });
    } catch (error) {
      const isRefused = error instanceof PaymentRefused;
      refusal = isRefused ? error.refusal : { kind: "failed", reason: `${error}` };
    }
    tell(undefined);
  };

  return {
    wallets: ({ injectedWallet }) =>
      found.map((wallet) => ({
        name: nameOf(wallet, injectedWallet),
        pay: () => void pay(wallet),
      })),
    state(now) {
      watcher.look(found);
      return stateOf(now, { step, refusal, fate: watcher.fate() });
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

/** Follows what is kept for an address by the wallet that was asked, until its fate is known. */
function watchKept(recordNow: () => AddressRecord | undefined, change: () => void) {
  let fate: Fate | undefined;
  let watched = "";
  let watching = new AbortController();
  return {
    fate: () => fate,
    stop: () => watching.abort(),
    look(wallets: readonly Wallet[]) {
      const record = recordNow();
      const kept = record && findKept(record.address);
      const provider = wallets.find(({ info }) => info.rdns === kept?.rdns)?.provider;
      if (!record || !kept || !provider) return;
      const key = `${kept.from} ${kept.nonce} ${kept.hash === undefined}`;
      if (key === watched) return;
      watched = key;
      watching.abort();
      watching = new AbortController();
      fate = undefined;
      const { address, intent } = record;
      const tell = (next: Fate) => {
        fate = next;
        if (isFinal(next)) keep(address, undefined);
        change();
      };
      const target = { token: intent.token, address, kept };
      void watchPayment(provider, target, tell, (next) => keep(address, next), watching.signal);
    },
  };
}

type Progress = { step: Step | undefined; refusal: Refusal | undefined; fate: Fate | undefined };

function stateOf(now: Asked, { step, refusal, fate }: Progress): ReturnType<WalletPanel["state"]> {
  const { record, words, owed } = now;
  const kept = findKept(record.address);
  const forget = () => keep(record.address, undefined);
  if (kept && !kept.hash && kept.amount !== owed) {
    return { text: words.declineIt, busy: true, forget };
  }
  if (step) return { text: sayStep(step, now), busy: true };
  if (kept?.hash) return { text: words.onItsWay, busy: true };
  if (kept) return { text: words.stillAsking, busy: true, forget };
  if (refusal) return { text: sayRefusal(refusal, now), busy: false };
  if (fate?.kind === "reverted") {
    return { text: fill(words.reverted, { block: `${fate.block}` }), busy: false };
  }
  if (fate?.kind === "cancelled" || fate?.kind === "replaced") {
    return { text: words[fate.kind], busy: false };
  }
  return undefined;
}

function sayStep(step: Step, { record, owed, chainName, sayAmount, words }: Asked): string {
  const names = {
    connect: "stepConnect",
    chain: "stepChain",
    check: "stepCheck",
    sign: "stepSign",
  } as const;
  const address = shortAddress(record.address);
  return fill(words[names[step]], { chain: chainName, amount: sayAmount(owed), address });
}

const refusals: Record<Refusal["kind"], keyof ElementWords> = {
  rejected: "payRejected",
  busy: "payBusy",
  other_chain: "payOtherChain",
  unknown_chain: "payUnknownChain",
  no_account: "payNoAccount",
  changed: "payChanged",
  asked_elsewhere: "payAskedElsewhere",
  poor: "payPoor",
  no_gas: "payNoGas",
  refused: "payRefused",
  failed: "payFailed",
};

function sayRefusal(refusal: Refusal, { owed, chainName, sayAmount, words }: Asked): string {
  const text = words[refusals[refusal.kind]];
  const sayCoin = (wei: string) => `${formatUnits(wei, coinDecimals)} ${words.nativeCoin}`;
  switch (refusal.kind) {
    case "poor":
      return fill(text, { held: sayAmount(refusal.held), amount: sayAmount(owed) });
    case "no_gas":
      return fill(text, { held: sayCoin(refusal.heldWei), needed: sayCoin(refusal.neededWei) });
    case "refused":
    case "failed":
      return fill(text, { reason: refusal.reason });
    default:
      return fill(text, { chain: chainName });
  }
}
