// The views of a wallet payment, and the messages in these views. The payment page and the element
// show the same views and texts, but draw them differently.

import type { AddressRecord, Hex } from "executable-address";
import type { ServiceStatus } from "executable-address/status";
import { isOver, type Standing } from "../standing.ts";
import type { ElementWords } from "../words.ts";
import { type Fate, isFinal } from "./fate.ts";
import type { Refusal } from "./provider.ts";
import type { Order, Step } from "./send.ts";
import type { StoredPayment } from "./stored-payment.ts";

/** The inputs of a payment by a browser wallet. */
export type PaymentNow = {
  readonly record: AddressRecord;
  readonly standing: Standing;
  readonly status: ServiceStatus | undefined;
  readonly chainName: string;
  readonly walletChain: Order["walletChain"];
};

/** A value in a message. The format of values differs between the payment page and the element. */
export type Value =
  | { is: "amount"; units: string }
  | { is: "coin"; wei: string }
  | { is: "address"; address: Hex }
  | { is: "chain" }
  | { is: "block"; number: number }
  | { is: "time"; ms: number }
  /** Text from a wallet or a contract, which may be hostile. */
  | { is: "reason"; text: string };

export type Message = {
  readonly word: keyof ElementWords;
  readonly values?: Readonly<Record<string, Value>>;
};

export type WalletView = {
  /**
   * - `offered`: no payment is pending.
   * - `preparing`: the page has not asked the wallet to sign yet, and the payer can cancel.
   * - `asking`: a request may be open in the wallet.
   * - `decline`: the payer must reject the request that is open in the wallet.
   * - `sent`: a transaction is pending or its outcome is unknown.
   * - `failed`: the transaction paid nothing.
   * - `settled`: the address is paid, but a request may still be open in the wallet.
   */
  readonly is: "offered" | "preparing" | "asking" | "decline" | "sent" | "failed" | "settled";
  readonly title?: keyof ElementWords;
  readonly messages: readonly Message[];
  readonly hash?: Hex;
  readonly action?: { readonly word: keyof ElementWords; readonly press: () => void };
};

/** Returns whether the page must hide all other ways to pay. */
export const isInProgress = ({ is }: WalletView): boolean => is !== "offered" && is !== "settled";

type PendingRequest = {
  /** This tab has an open request. */
  isOpenHere: boolean;
  /** At least one tab of this browser has an open request. */
  isOpen: boolean;
  /** The wallet has not responded, but the chain contains a matching transfer by the account. */
  isMet: boolean;
  notes: Message[];
  forget: () => void;
};

/** Returns whether the address needs no more money, according to its last status. */
const isPaid = (standing: Standing) => isOver(standing) || standing.owed === "0";

/**
 * Returns the view of a request that the wallet has not answered yet. The page shows this view
 * until the wallet responds or the payer dismisses the view.
 */
export function makeRequestView(
  { record, standing }: PaymentNow,
  stored: StoredPayment,
  { isOpenHere, isOpen, isMet, notes, forget }: PendingRequest,
): WalletView {
  const amount: Value = { is: "amount", units: stored.amount };
  const dismiss = { word: "dismiss", press: forget } as const;
  const again = isOpen ? {} : { action: { word: "forgetIt", press: forget } as const };
  if (isPaid(standing) && !isOpen) {
    return {
      is: "settled",
      messages: [{ word: "rejectRequest", values: { amount } }],
      action: dismiss,
    };
  }
  const isKnown = standing.state !== "unknown";
  if (isMet || isPaid(standing) || (isKnown && standing.owed !== stored.amount)) {
    return {
      is: "decline",
      title: "declineIt",
      messages: [{ word: "declineText", values: { amount } }, ...notes],
      ...(isPaid(standing) && isOpenHere ? { action: dismiss } : again),
    };
  }
  return {
    is: "asking",
    title: isOpenHere ? "walletAsks" : "stillAsking",
    messages: [
      isOpenHere
        ? sayStep("sign", stored.amount, record.address)
        : { word: "stillAskingText", values: { amount } },
      ...notes,
    ],
    ...again,
  };
}

/** `unwatched`: the wallet that received the request is not available. */
export type KnownFate = Fate | { kind: "unwatched" };

export function makeSentView(
  { standing }: PaymentNow,
  stored: StoredPayment,
  fate: KnownFate,
  forget: () => void,
): WalletView {
  const amount: Value = { is: "amount", units: stored.amount };
  const rejectRequest: Message = { word: "rejectRequest", values: { amount } };
  const dismiss = { word: "dismiss", press: forget } as const;
  if (stored.isArrived) return { is: "settled", messages: [rejectRequest], action: dismiss };
  const hash = stored.hash!;
  const isEnd = isPaid(standing);
  if (fate.kind !== "unwatched" && isFinal(fate) && fate.kind !== "mined") {
    const action = isEnd ? dismiss : ({ word: "payAgain", press: forget } as const);
    return { is: "failed", messages: sayFate(fate), hash, action };
  }
  const isDoubtful = fate.kind === "dropped" || fate.kind === "unwatched";
  const isUnseen = isDoubtful || fate.kind === "elsewhere" || fate.kind === "silent";
  const time: Value = { is: "time", ms: stored.sinceMs };
  return {
    is: "sent",
    title: isEnd && isUnseen ? "sentEarlier" : "onItsWay",
    messages: [
      { word: "onItsWayText", values: { amount, time } },
      ...sayFate(fate),
      ...(stored.isFound ? [rejectRequest] : []),
    ],
    hash,
    ...(isEnd && isUnseen && { action: dismiss }),
    ...(!isEnd && isDoubtful && { action: { word: "forgetIt", press: forget } }),
  };
}

function sayFate(fate: KnownFate): Message[] {
  switch (fate.kind) {
    case "asking":
    case "met":
      return [];
    case "pending":
      return [
        ...(fate.isSped ? [{ word: "sped" } as const] : []),
        { word: "waitingForBlock" } as const,
      ];
    case "mined":
    case "reverted":
      return [{ word: fate.kind, values: { block: { is: "block", number: fate.block } } }];
    case "cancelled":
    case "replaced":
    case "dropped":
      return [{ word: fate.kind }];
    case "elsewhere":
      return [{ word: "walletElsewhere" }];
    case "silent":
      return [{ word: "walletSilent" }];
    case "unwatched":
      return [{ word: "walletMissing" }];
  }
}

export function sayStep(step: Step, units: string, address: Hex): Message {
  const chain: Value = { is: "chain" };
  switch (step) {
    case "connect":
      return { word: "stepConnect" };
    case "chain":
      return { word: "stepChain", values: { chain } };
    case "check":
      return { word: "stepCheck" };
    case "sign":
      return {
        word: "stepSign",
        values: { amount: { is: "amount", units }, address: { is: "address", address }, chain },
      };
  }
}

const refusals: Record<Refusal["kind"], keyof ElementWords> = {
  rejected: "payRejected",
  busy: "payBusy",
  other_chain: "payOtherChain",
  unknown_chain: "payUnknownChain",
  no_account: "payNoAccount",
  changed: "payChanged",
  requested_elsewhere: "payRequestedElsewhere",
  silent: "paySilent",
  canceled: "payRejected",
  poor: "payPoor",
  no_gas: "payNoGas",
  refused: "payRefused",
  failed: "payFailed",
};

export function sayRefusal(refusal: Refusal, units: string): Message {
  const word = refusals[refusal.kind];
  switch (refusal.kind) {
    case "poor":
      return {
        word,
        values: { held: { is: "amount", units: refusal.held }, amount: { is: "amount", units } },
      };
    case "no_gas":
      return {
        word,
        values: {
          held: { is: "coin", wei: refusal.heldWei },
          needed: { is: "coin", wei: refusal.neededWei },
        },
      };
    case "refused":
    case "failed":
      return { word, values: { reason: { is: "reason", text: refusal.reason } } };
    default:
      return { word, values: { chain: { is: "chain" } } };
  }
}
