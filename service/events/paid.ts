// Decides which payments to an address are reported, and how each payment relates to the requested
// amount. No function in this file has side effects.

import { type Hex, zeroAddress } from "executable-address";
import { type AddressStatus, type EventReference, isSame } from "executable-address/status";
import type { EventType, Payment, PaymentNews } from "executable-address/webhook";
import { movedOf } from "./money.ts";
import { type KeptPayment, paymentsMax } from "./payments.ts";

/** The payments to an address that are known at the time of a status. */
export type Paid = {
  /** The payments in the order of the chain. Some may be above the status's block. */
  payments: readonly KeptPayment[];
  /** Whether the blocks up to the last payment were read again after that payment was found. */
  isSwept: boolean;
  /** The blocks after the expiry that contain payments. */
  lateBlocks: ReadonlySet<number>;
};

/** The reported payments by {@link keyOf}, and the reported amounts that no log explains. */
export type ReportedPayments = {
  told: string[];
  /** The amounts that arrived without a log: base units of the requested token, and wei. */
  unexplained: { token: string; coin: string };
  /** The number of events for such amounts. */
  growths: number;
};

export const nothingReported: ReportedPayments = {
  told: [],
  unexplained: { token: "0", coin: "0" },
  growths: 0,
};

/** The maximum number of such events. It is limited because anyone can send coin repeatedly. */
const growthsMax = 16;

/**
 * Returns the key of a payment: 48 bits of the block's hash, and the log index. Keys are short,
 * because up to 64 keys are stored per address.
 */
export const keyOf = ({ blockHash, logIndex, claim }: KeptPayment) =>
  `${blockHash.slice(2, 14)}.${logIndex}${claim === 0 ? "" : `.${claim}`}`;

/** Returns whether a reported payment is no longer in the chain. */
export function isTakenBack({ told }: ReportedPayments, { payments }: Paid): boolean {
  const standing = new Set(payments.map(keyOf));
  return told.some((key) => !standing.has(key));
}

/** Returns the payments that were not reported yet. */
export function unreported(
  { told }: ReportedPayments,
  payments: readonly KeptPayment[],
): KeptPayment[] {
  const before = new Set(told);
  return payments.filter((payment) => !before.has(keyOf(payment)));
}

/** Returns whether tokens arrived whose log is not known yet but may still be found. */
export const isWaitingForSweep = (before: ReportedPayments, status: AddressStatus, paid: Paid) =>
  !paid.isSwept && unexplainedOf(status, paid).token > BigInt(before.unexplained.token);

/**
 * Returns the payments to report, in order, and the reported payments after that.
 *
 * @param isOver whether the address was closed when it was last reported
 */
export function newPayments(
  before: ReportedPayments,
  status: AddressStatus,
  paid: Paid,
  isOver: boolean,
): { news: PaymentNews[]; reported: ReportedPayments } {
  const seen = seenOf(status, paid);
  const found = foundLate(before, status, paid);
  const keys = new Set([...before.told, ...found.keys]);
  const unexplained = { ...before.unexplained, token: String(found.token) };
  let sum = found.token;
  const count = { lookalike: 0, small: 0, other: 0 };
  const news = seen.flatMap((payment): PaymentNews[] => {
    const { isSmall, isLookalike: isListedSo, claim: _, ...place } = payment;
    const isLookalike = isListedSo && !isSame(payment.token, status.token);
    const kind = isLookalike
      ? "wrong_token"
      : paymentKind(status, payment.token, payment.amount, sum);
    if (kind !== "other_token" && kind !== "wrong_token") sum += BigInt(payment.amount);
    const nth = ++count[isLookalike ? "lookalike" : isSmall ? "small" : "other"];
    if (keys.has(keyOf(payment))) return [];
    const isLate = status.execution
      ? isAfter(payment, status.execution)
      : paid.lateBlocks.has(payment.blockNumber);
    return [{ ...place, kind, isLate, isLast: nth === paymentsMax }];
  });
  const grown = growthsOf({ ...before, unexplained }, status, paid, isOver);
  return {
    news: [...news, ...grown.news],
    reported: { ...grown.reported, told: [...new Set([...keys, ...seen.map(keyOf)])] },
  };
}

/**
 * Finds logs whose amount was already reported as a growth of the balance. Such a log explains the
 * reported amount. It gets no event, because a receiver that adds up amounts would count the amount
 * twice.
 *
 * @returns the keys of such logs, and the reported amount, in base units, that still has no known
 *   log
 */
function foundLate(before: ReportedPayments, status: AddressStatus, paid: Paid) {
  const now = unexplainedOf(status, paid).token;
  const left = now > 0n ? now : 0n;
  let token = BigInt(before.unexplained.token);
  const keys = unreported(before, seenOf(status, paid)).flatMap((payment) => {
    const amount = BigInt(payment.amount);
    const isOther = amount === 0n || !isSame(payment.token, status.token);
    if (isOther || token - amount < left) return [];
    token -= amount;
    return [keyOf(payment)];
  });
  return { keys, token };
}

/** Returns the payments up to the block of the status. */
const seenOf = ({ block }: AddressStatus, { payments }: Paid) =>
  payments.filter(({ blockNumber }) => blockNumber <= block.number);

function paymentKind(
  { token: wanted, amount: requested }: AddressStatus,
  token: string,
  amount: string,
  before: bigint,
): PaymentNews["kind"] {
  if (!isSame(token, wanted)) return "other_token";
  if (before >= BigInt(requested)) return "surplus";
  return before + BigInt(amount) >= BigInt(requested) ? "asked" : "partial";
}

const isAfter = (payment: KeptPayment, place: EventReference) =>
  payment.blockNumber === place.blockNumber
    ? payment.logIndex > place.logIndex
    : payment.blockNumber > place.blockNumber;

/**
 * Returns events for money without a log. Such money is native coin, which a status shows after the
 * address is closed, or tokens that were paid before the address was created here. The payer and
 * the transaction are unknown.
 */
function growthsOf(before: ReportedPayments, status: AddressStatus, paid: Paid, isOver: boolean) {
  const now = unexplainedOf(status, paid);
  const { number: blockNumber, hash: blockHash } = status.block;
  const news: PaymentNews[] = [];
  const unexplained = { ...before.unexplained };
  for (const name of ["token", "coin"] as const) {
    const amount = now[name] - BigInt(before.unexplained[name]);
    if (amount <= 0n || before.growths + news.length >= growthsMax) continue;
    if (name === "token" && !paid.isSwept) continue;
    const token: Hex = name === "token" ? status.token : zeroAddress;
    const sum = BigInt(movedOf(status).paid) - amount;
    news.push({
      ...{ blockNumber, blockHash, transactionHash: null, logIndex: null, payer: null, token },
      amount: String(amount),
      kind: paymentKind(status, token, String(amount), sum),
      isLate: isOver,
      isLast: before.growths + news.length + 1 === growthsMax,
    });
    unexplained[name] = String(now[name]);
  }
  return { news, reported: { unexplained, growths: before.growths + news.length } };
}

/** Returns the amounts that arrived without a log: wei, and base units of the token. */
function unexplainedOf(status: AddressStatus, paid: Paid) {
  const explained = seenOf(status, paid)
    .filter(({ token }) => isSame(token, status.token))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  return { token: BigInt(movedOf(status).paid) - explained, coin: coinOf(status) };
}

/** Returns the total wei that the address received according to the status. */
function coinOf({ recoverable, recoveries }: AddressStatus): bigint {
  return [...recoverable, ...recoveries]
    .filter(({ token }) => token === zeroAddress)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

/** The maximum number of payments in an event. */
const listedMax = 8;

/**
 * Returns the payments that led to an execution or a recovery. If there are too many, omits the
 * small payments first.
 *
 * @param type null for an event on a different chain, which lists no payments
 */
export function listPayments(
  type: EventType | null,
  { block, execution, token }: AddressStatus,
  { payments }: Pick<Paid, "payments">,
): { payments: Payment[]; paymentsOmitted: number } {
  const rests: Partial<Record<EventType, (payment: KeptPayment) => boolean>> = {
    "address.executed": (payment) =>
      isSame(payment.token, token) && execution !== null && !isAfter(payment, execution),
    "address.recovered": ({ blockNumber }) => blockNumber <= block.number,
  };
  const all = payments.filter((type && rests[type]) ?? (() => false));
  const ranked = all.toSorted((a, b) => Number(a.isSmall) - Number(b.isSmall));
  const chosen = new Set(ranked.slice(0, listedMax));
  return {
    payments: all
      .filter((payment) => chosen.has(payment))
      .map(({ isSmall: _, isLookalike: __, claim: ___, ...payment }) => payment),
    paymentsOmitted: all.length - chosen.size,
  };
}
