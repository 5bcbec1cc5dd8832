// Decides which payments to an address are reported, and how each payment relates to the requested
// amount. No function in this file has side effects.

import { type Hex, zeroAddress } from "executable-address";
import { type AddressStatus, type EventReference, isSame } from "executable-address/status";
import type { EventType, Payment, PaymentNews } from "executable-address/webhook";
import { movedOf } from "./money.ts";
import { type KeptPayment, paymentsMax } from "./payments.ts";

/** The stored payments to an address, to compare with a status. */
export type Paid = {
  /** The payments, oldest first. Some may be in blocks above the status's block. */
  payments: readonly KeptPayment[];
  /**
   * Whether the chain was read beyond the block of the last payment. Then all transfer logs up to
   * this block should be known.
   */
  isSwept: boolean;
  /** The numbers of blocks after the expiration that contain payments. */
  lateBlocks: ReadonlySet<number>;
};

/**
 * The reported payments, as keys of {@link keyOf}, and the reported amounts for which no transfer
 * log is known.
 */
export type ReportedPayments = {
  told: string[];
  /** The amounts without a log: base units of the requested token, and wei of native coin. */
  unexplained: { token: string; coin: string };
  /** The number of events that reported amounts without a log. */
  growths: number;
};

export const nothingReported: ReportedPayments = {
  told: [],
  unexplained: { token: "0", coin: "0" },
  growths: 0,
};

/**
 * The maximum number of events per address that report amounts without a log. There is a limit
 * because anyone can send native coin repeatedly.
 */
const growthsMax = 16;

/**
 * Returns the key of a payment: 48 bits of the block's hash, the log index, and the claim unless it
 * is 0. Keys are short, because the row of an address contains the keys of all its reported
 * payments.
 */
export const keyOf = ({ blockHash, logIndex, claim }: KeptPayment) =>
  `${blockHash.slice(2, 14)}.${logIndex}${claim === 0 ? "" : `.${claim}`}`;

/** Returns whether a reorganization removed a reported payment. */
export function isTakenBack({ told }: ReportedPayments, { payments }: Paid): boolean {
  const standing = new Set(payments.map(keyOf));
  return told.some((key) => !standing.has(key));
}

/** Returns the payments that are not reported yet. */
export function unreported(
  { told }: ReportedPayments,
  payments: readonly KeptPayment[],
): KeptPayment[] {
  const before = new Set(told);
  return payments.filter((payment) => !before.has(keyOf(payment)));
}

/**
 * Returns whether the address received tokens for which no log is known yet, although the log may
 * still be found.
 */
export const isWaitingForSweep = (before: ReportedPayments, status: AddressStatus, paid: Paid) =>
  !paid.isSwept && unexplainedOf(status, paid).token > BigInt(before.unexplained.token);

/**
 * Returns the payments to report now, in order, and `before` updated with these payments.
 *
 * @param isOver whether the last reported state was a closed state
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
 * Finds new payments whose amounts were already reported as growth of the balance, before their
 * logs were found. They get no second event, because a receiver that adds up amounts would count
 * them twice.
 *
 * @returns the keys of these payments, and the reported amount, in base units, for which no log is
 *   known yet
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

/** Returns the payments up to the status's block. */
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
  return before + BigInt(amount) >= BigInt(requested) ? "requested" : "partial";
}

const isAfter = (payment: KeptPayment, place: EventReference) =>
  payment.blockNumber === place.blockNumber
    ? payment.logIndex > place.logIndex
    : payment.blockNumber > place.blockNumber;

/**
 * Returns the payments to report for amounts without a log, and `before` updated with these
 * amounts. Amounts without a log are native coin, which a status shows only after the address is
 * closed, and tokens that were paid before the address was created here. The payer and the
 * transaction of such amounts are unknown.
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

/** Returns the amounts without a log: base units of the requested token, and wei of native coin. */
function unexplainedOf(status: AddressStatus, paid: Paid) {
  const explained = seenOf(status, paid)
    .filter(({ token }) => isSame(token, status.token))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  return { token: BigInt(movedOf(status).paid) - explained, coin: coinOf(status) };
}

/** Returns the total native coin that the address has received according to the status, in wei. */
function coinOf({ recoverable, recoveries }: AddressStatus): bigint {
  return [...recoverable, ...recoveries]
    .filter(({ token }) => token === zeroAddress)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

/** The maximum number of payments in an event. */
const listedMax = 8;

/**
 * Returns the payments that an event lists. An execution lists the earlier payments in the
 * requested token, and a recovery lists all payments up to the status's block. Other events list
 * none. If there are too many payments, omits small payments first.
 *
 * @param type null for an event about another chain, which lists no payments
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
