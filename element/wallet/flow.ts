// Runs a browser-wallet payment, from the payer's click until its outcome is known. The payment
// continues after a reload and in other tabs. The payment page and the element share this state
// machine.

import { isSame } from "executable-address/status";
import { isOver } from "../standing.ts";
import { type Fate, watchPayment } from "./fate.ts";
import { PaymentRefused, type Refusal } from "./provider.ts";
import { isOpenInATab, type Step, sendPayment } from "./send.ts";
import {
  findStoredPayment,
  forgetStoredPayment,
  onStoredPayment,
  type StoredPayment,
  storePayment,
} from "./stored-payment.ts";
import {
  type KnownFate,
  makeRequestView,
  makeSentView,
  type PaymentNow,
  sayRefusal,
  sayStep,
  type WalletView,
} from "./view.ts";
import { followWallets, type Wallet } from "./wallets.ts";

export type WalletFlow = {
  wallets(): readonly Wallet[];
  view(): WalletView;
  pay(wallet: Wallet): void;
  stop(): void;
};

type FlowOptions = {
  baseUrl: string;
  /** Undefined until the record is verified. */
  now: () => PaymentNow | undefined;
  /** Called after each change of the view. */
  change: () => void;
};

const lookMs = 1_000;

export function openWalletFlow({ baseUrl, now, change }: FlowOptions): WalletFlow {
  let wallets: readonly Wallet[] = [];
  /** True while a tab of this browser waits for the wallet's response. */
  let isOpen = false;
  const requests = openRequests(now, change);
  const watcher = watchStoredPayment({ now, change, isOpen: () => isOpen });
  const arrivals = lookForArrival(baseUrl);

  const look = async () => {
    const payment = now();
    const { address } = payment?.record ?? {};
    const stored = address && findStoredPayment(address);
    if (!payment || !stored) return watcher.look(wallets);
    if (!stored.hash) {
      const wasOpen = isOpen;
      isOpen = requests.isOpen() || (await isOpenInATab(address));
      if (wasOpen !== isOpen) change();
    } else if (!stored.isArrived && (await arrivals.hasArrived(payment, stored, watcher.fate()))) {
      // If the payment was found before the wallet responded, keeps the stored payment, because the
      // wallet's request may still be open.
      if (findStoredPayment(address)?.hash === stored.hash) {
        if (stored.isFound) storePayment(address, { ...stored, isArrived: true });
        else forgetStoredPayment(address);
      }
    }
    watcher.look(wallets);
  };
  const lookAndDraw = () => {
    void look().catch(() => {});
    change();
  };
  const timer = setInterval(() => void look().catch(() => {}), lookMs);
  const stops = [
    onStoredPayment(lookAndDraw),
    followWallets((found) => {
      wallets = found;
      lookAndDraw();
    }),
  ];

  return {
    wallets: () => wallets,
    pay: (wallet) => void requests.pay(wallet),
    view() {
      const payment = now();
      if (!payment) return { is: "offered", messages: [] };
      const { address } = payment.record;
      const stored = findStoredPayment(address);
      const fate = watcher.fate();
      const forget = () => {
        forgetStoredPayment(address);
        requests.cancel();
      };
      if (stored?.hash) return makeSentView(payment, stored, fate, forget);
      if (!stored) return requests.view(payment);
      const isOpenHere = requests.isOpen();
      return makeRequestView(payment, stored, {
        ...{ isOpenHere, isOpen: isOpen || isOpenHere, isMet: fate.kind === "met" },
        ...{ notes: requests.notes(), forget },
      });
    },
    stop() {
      clearInterval(timer);
      watcher.stop();
      // The next page can continue a payment whose request is open in the wallet.
      if (!requests.isOpen()) requests.cancel();
      for (const stop of stops) stop();
    },
  };
}

/**
 * Manages the payment request of this tab. If a request fails, its reason is kept until the next
 * request.
 */
function openRequests(now: FlowOptions["now"], change: () => void) {
  let request: { step: Step; amount: string; stopping: AbortController } | undefined;
  let refused: { refusal: Refusal; amount: string } | undefined;
  const cancel = () => request?.stopping.abort();
  const notes = () => (refused ? [sayRefusal(refused.refusal, refused.amount)] : []);
  return {
    cancel,
    notes,
    isOpen: () => request?.step === "sign",
    view({ record }: PaymentNow): WalletView {
      if (!request) return { is: "offered", messages: notes() };
      return {
        is: "preparing",
        messages: [sayStep(request.step, request.amount, record.address)],
        action: { word: "cancel", press: cancel },
      };
    },
    async pay({ provider, info }: Wallet): Promise<void> {
      const payment = now();
      if (!payment || request) return;
      const { record, chainName, walletChain, standing } = payment;
      const amount = standing.owed;
      const mine = { step: "connect" as Step, amount, stopping: new AbortController() };
      request = mine;
      refused = undefined;
      change();
      const owedNow = () => {
        const later = now()?.standing;
        return !later || isOver(later) ? "0" : later.owed;
      };
      const report = (step: Step) => {
        mine.step = step;
        change();
      };
      const { signal } = mine.stopping;
      const order = { record, amount, chainName, walletChain, owedNow, report, signal };
      try {
        await sendPayment(provider, info.rdns, order);
      } catch (error) {
        const isRefused = error instanceof PaymentRefused;
        const refusal = isRefused ? error.refusal : { kind: "failed" as const, reason: `${error}` };
        refused = refusal.kind === "canceled" ? undefined : { refusal, amount };
      }
      request = undefined;
      change();
    },
  };
}

/** Watches the stored payment through its wallet, until the outcome is final. */
function watchStoredPayment({
  now,
  change,
  isOpen,
}: Pick<FlowOptions, "now" | "change"> & {
  isOpen: () => boolean;
}) {
  let fate: KnownFate = { kind: "unwatched" };
  let watched = "";
  let watching = new AbortController();
  return {
    fate: () => fate,
    stop: () => watching.abort(),
    look(wallets: readonly Wallet[]) {
      const record = now()?.record;
      const stored = record && findStoredPayment(record.address);
      const provider = wallets.find(({ info }) => info.rdns === stored?.rdns)?.provider;
      // The key does not contain the hash, only whether a hash exists. A replacement of the
      // transaction changes the hash, but must not restart the watch.
      const isRequested = stored?.hash === undefined;
      const key =
        stored && provider ? `${stored.from} ${stored.nonce} ${stored.sinceMs} ${isRequested}` : "";
      if (key === watched) return;
      watched = key;
      watching.abort();
      watching = new AbortController();
      fate = { kind: "unwatched" };
      change();
      if (!record || !stored || !provider) return;
      const { address, intent } = record;
      const { signal } = watching;
      const report = (next: Fate) => {
        if (signal.aborted) return;
        fate = next;
        change();
      };
      fate = isRequested ? { kind: "asking" } : { kind: "pending", isSped: false };
      const target = { token: intent.token, address, stored, isOpen };
      const write = (next: StoredPayment) => {
        // The payer may have dismissed this payment, or replaced it with a new one.
        if (!signal.aborted && findStoredPayment(address)?.sinceMs === stored.sinceMs)
          storePayment(address, next);
      };
      void watchPayment(provider, target, report, write, signal);
    },
  };
}

/**
 * The maximum number of proof requests after each change of the status. The service may build the
 * proof at an older block than the block of the status, so one request may not be enough.
 */
const proofsMax = 5;

/**
 * Asks the service whether the stored transaction has reached the address, independently of the
 * wallet.
 */
function lookForArrival(baseUrl: string) {
  let checked = "";
  let proofs = 0;
  return {
    async hasArrived({ status, record }: PaymentNow, { hash }: StoredPayment, fate: KnownFate) {
      if (!status) return false;
      if (fate.kind === "mined" && status.block.number >= fate.block) return true;
      if (status.state === "unfunded") return false;
      const key = `${hash} ${status.state} ${status.balance}`;
      if (key !== checked) proofs = 0;
      checked = key;
      if (proofs++ >= proofsMax) return false;
      const answer = await fetch(`${baseUrl}/address/${record.address}/proof`);
      if (!answer.ok) return false;
      type Paid = { payments?: { transactionHash?: unknown }[] };
      const { payments = [] } = (await answer.json()) as Paid;
      return payments.some(({ transactionHash }) => isSame(`${transactionHash}`, hash!));
    },
  };
}
