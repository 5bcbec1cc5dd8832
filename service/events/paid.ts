// Decides which payments to an address are reported as events, and whether each payment is partial,
// late, or surplus. No function in this file has side effects.

import { type Hex, zeroAddress } from "executable-address";
import { type AddressStatus, type EventReference, isSame } from "executable-address/status";
import type { EventType, Payment, PaymentNews } from "executable-address/webhook";
import { movedOf } from "./money.ts";
import { paymentsMax, type StoredPayment } from "./payments.ts";

export type Paid = {
  /** Oldest first. Some payments may be in blocks after the status's block. */
  payments: readonly StoredPayment[];
  /**
   * Whether the executor has read the chain beyond the newest block for which the address was
   * marked (mark.ts). If so, all transfer logs up to the marked block should be known.
   */
  isSwept: boolean;
  /** The blocks after the expiration that contain payments. */
  lateBlocks: ReadonlySet<number>;
};

/**
 * Amounts that an address received without a known transfer log: `token` in base units of the
 * requested token, and `coin` in wei of the native coin. A status contains native coin only after
 * the address is closed.
 */
type Unexplained = { token: bigint; coin: bigint };

/** The payments to an address that were reported. Stored as JSON with these field names. */
export type ReportedPayments = {
  /** The keys ({@link keyOf}) of reported payments with a log. */
  told: string[];
  /** The reported amounts for which no transfer log is known yet, in decimal. */
  unexplained: Record<keyof Unexplained, string>;
  /** The number of events that reported amounts without a log. */
  growths: number;
};

export const nothingReported: ReportedPayments = {
  told: [],
  unexplained: { token: "0", coin: "0" },
  growths: 0,
};

/**
 * The maximum number of events per address that report amounts without a log. Without this limit,
 * anyone could cause many events by sending native coin repeatedly.
 */
const growthsMax = 16;

/**
 * Returns the key of a payment: 48 bits of the block hash, the log index, and `claim` unless it is
 * 0. Keys are short, because the row of an address contains the keys of all reported payments.
 */
export const keyOf = ({ blockHash, logIndex, claim }: StoredPayment) =>
  `${blockHash.slice(2, 14)}.${logIndex}${claim === 0 ? "" : `.${claim}`}`;

/** Returns whether a reorganization removed a reported payment. */
export function isTakenBack({ told: reportedKeys }: ReportedPayments, { payments }: Paid): boolean {
  const standing = new Set(payments.map(keyOf));
  return reportedKeys.some((key) => !standing.has(key));
}

/** Returns the payments that are not reported yet. */
export function unreported(
  { told }: ReportedPayments,
  payments: readonly StoredPayment[],
): StoredPayment[] {
  const reportedKeys = new Set(told);
  return payments.filter((payment) => !reportedKeys.has(keyOf(payment)));
}

/**
 * Returns whether the address received tokens whose transfer log is not known yet but may still be
 * found.
 */
export const isWaitingForSweep = (before: ReportedPayments, status: AddressStatus, paid: Paid) =>
  !paid.isSwept &&
  computeUnexplained(status, seenOf(status, paid)).token > BigInt(before.unexplained.token);

/**
 * Returns the payments to report now, in order, and the updated `before`. Payments with a transfer
 * log come first, followed by amounts without a transfer log.
 *
 * @param isOver whether the address was already closed in the last reported state
 */
export function newPayments(
  before: ReportedPayments,
  status: AddressStatus,
  paid: Paid,
  isOver: boolean,
): { news: PaymentNews[]; reported: ReportedPayments } {
  const seen = seenOf(status, paid);
  const unexplained = computeUnexplained(status, seen);
  const explained = findExplained(before, seen, unexplained.token, status);
  const reportedKeys = new Set([...before.told, ...explained.keys]);
  const logged = reportLogged(seen, reportedKeys, explained.rest, status, paid);
  const reported = { token: explained.rest, coin: BigInt(before.unexplained.coin) };
  const grown = reportGrowths(reported, unexplained, status, {
    ...{ isSwept: paid.isSwept, isOver, growths: before.growths },
  });
  const { token, coin } = grown.unexplained;
  return {
    news: [...logged, ...grown.news],
    reported: {
      told: [...new Set([...reportedKeys, ...seen.map(keyOf)])],
      unexplained: { token: String(token), coin: String(coin) },
      growths: before.growths + grown.news.length,
    },
  };
}

const seenOf = ({ block }: AddressStatus, { payments }: Paid): StoredPayment[] =>
  payments.filter(({ blockNumber }) => blockNumber <= block.number);

/**
 * Computes which amounts in a status are not explained by known payments. The amount of the
 * requested token is negative if the known payments exceed the amount in the status, for example
 * because an endpoint invented a log.
 */
function computeUnexplained(status: AddressStatus, seen: readonly StoredPayment[]): Unexplained {
  const explained = sumOf(seen.filter(({ token }) => isSame(token, status.token)));
  const coins = [...status.recoverable, ...status.recoveries].filter(
    ({ token }) => token === zeroAddress,
  );
  return { token: BigInt(movedOf(status).paid) - explained, coin: sumOf(coins) };
}

const sumOf = (amounts: readonly { amount: string }[]): bigint =>
  amounts.reduce((sum, { amount }) => sum + BigInt(amount), 0n);

/**
 * Finds new payments whose amounts were already reported without a log. These payments are not
 * reported again, because a receiver that adds up the amounts of events would count the payments
 * twice.
 *
 * @param unexplained the amount of the requested token for which no log is known now
 * @returns the keys of these payments, and the part of the reported amount for which there is
 *   still no log
 */
function findExplained(
  before: ReportedPayments,
  seen: readonly StoredPayment[],
  unexplained: bigint,
  status: AddressStatus,
): { keys: string[]; rest: bigint } {
  const restMin = unexplained > 0n ? unexplained : 0n;
  let rest = BigInt(before.unexplained.token);
  const keys = unreported(before, seen).flatMap((payment) => {
    const amount = BigInt(payment.amount);
    const isOther = amount === 0n || !isSame(payment.token, status.token);
    if (isOther || rest - amount < restMin) return [];
    rest -= amount;
    return [keyOf(payment)];
  });
  return { keys, rest };
}

/**
 * Returns the payments with a log that are not reported yet.
 *
 * @param unexplained the reported amount of the requested token for which there is still no log; it
 *   counts as paid before all payments with a log
 */
function reportLogged(
  seen: readonly StoredPayment[],
  reportedKeys: ReadonlySet<string>,
  unexplained: bigint,
  status: AddressStatus,
  paid: Paid,
): PaymentNews[] {
  let sum = unexplained;
  const count = { lookalike: 0, small: 0, other: 0 };
  return seen.flatMap((payment): PaymentNews[] => {
    const { isSmall, isLookalike: isListedSo, claim: _, ...place } = payment;
    const isLookalike = isListedSo && !isSame(payment.token, status.token);
    const kind = isLookalike
      ? "wrong_token"
      : paymentKind(status, payment.token, payment.amount, sum);
    if (kind !== "other_token" && kind !== "wrong_token") sum += BigInt(payment.amount);
    const nth = ++count[isLookalike ? "lookalike" : isSmall ? "small" : "other"];
    if (reportedKeys.has(keyOf(payment))) return [];
    const isLate = status.execution
      ? isAfter(payment, status.execution)
      : paid.lateBlocks.has(payment.blockNumber);
    return [{ ...place, kind, isLate, isLast: nth === paymentsMax }];
  });
}

/**
 * Reports increases of the amounts without a log. Returns a payment for each increase, and the
 * updated amounts. An amount without a log is native coin, or a token payment from the time before
 * the service had a record of the address. The payer and the transaction of such an amount are
 * unknown.
 *
 * @param reported the amounts without a log that earlier events reported
 * @param found the present amounts without a log
 */
function reportGrowths(
  reported: Unexplained,
  found: Unexplained,
  status: AddressStatus,
  { isSwept, isOver, growths }: { isSwept: boolean; isOver: boolean; growths: number },
): { news: PaymentNews[]; unexplained: Unexplained } {
  const { number: blockNumber, hash: blockHash } = status.block;
  const news: PaymentNews[] = [];
  const unexplained = { ...reported };
  for (const name of ["token", "coin"] as const) {
    const growth = found[name] - reported[name];
    const nth = growths + news.length + 1;
    // The executor has not read the chain up to this block yet, so the transfer's log may still be
    // found.
    const isWaiting = name === "token" && !isSwept;
    if (growth <= 0n || nth > growthsMax || isWaiting) continue;
    const token: Hex = name === "token" ? status.token : zeroAddress;
    const amount = String(growth);
    const sum = BigInt(movedOf(status).paid) - growth;
    news.push({
      ...{ blockNumber, blockHash, transactionHash: null, logIndex: null, payer: null },
      ...{ token, amount, kind: paymentKind(status, token, amount, sum) },
      ...{ isLate: isOver, isLast: nth === growthsMax },
    });
    unexplained[name] = found[name];
  }
  return { news, unexplained };
}

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

const isAfter = (payment: StoredPayment, place: EventReference) =>
  payment.blockNumber === place.blockNumber
    ? payment.logIndex > place.logIndex
    : payment.blockNumber > place.blockNumber;

/** The maximum number of payments in an event. */
const listedMax = 8;

/**
 * Returns the payments that an event lists. An execution event lists the earlier payments in the
 * requested token, and a recovery event lists all payments up to the status's block. Other events
 * list no payments. If there are too many payments, small payments are omitted first.
 *
 * @param type null for an event about another chain, which lists no payments
 */
export function listPayments(
  type: EventType | null,
  { block, execution, token }: AddressStatus,
  { payments }: Pick<Paid, "payments">,
): { payments: Payment[]; paymentsOmitted: number } {
  const rests: Partial<Record<EventType, (payment: StoredPayment) => boolean>> = {
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
