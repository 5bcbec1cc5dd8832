// Decides which payments to an address are reported as events. Classifies each payment as partial,
// late, or surplus. No function in this file has side effects.

import { type Hex, zeroAddress } from "executable-address";
import { type AddressStatus, type EventReference, isSame } from "executable-address/status";
import type { EventType, Payment, PaymentNews } from "executable-address/webhook";
import { movedOf, sumOf } from "./money.ts";
import { paymentsMax, type StoredPayment } from "./payments.ts";

export type Paid = {
  /** Oldest first. Some payments may be in later blocks than the status. */
  payments: readonly StoredPayment[];
  /**
   * True if the executor has read the chain beyond `markedBlock` (watches.ts). The logs of all
   * payments up to this block should then be known.
   */
  isSwept: boolean;
  /** The numbers of the blocks that contain payments after the expiration. */
  lateBlocks: ReadonlySet<number>;
};

/**
 * Amounts that an address received, but that no known transfer log explains. `token` is in base
 * units of the requested token. `coin` is in wei of the native coin. A status contains native coin
 * only after the address is closed.
 */
type Unexplained = { token: bigint; coin: bigint };

/**
 * The payments that events have already reported for an address. Stored as JSON with these field
 * names.
 */
export type ReportedPayments = {
  /** The keys ({@link keyOf}) of the reported payments that have a transfer log. */
  told: string[];
  /** The reported amounts for which no transfer log is known yet, in decimal. */
  unexplained: Record<keyof Unexplained, string>;
  /** The number of events that reported an amount whose transfer log was unknown. */
  growths: number;
};

export const nothingReported: ReportedPayments = {
  told: [],
  unexplained: { token: "0", coin: "0" },
  growths: 0,
};

/**
 * The maximum number of an address's events that report an amount without its transfer log.
 * Without this limit, anyone could cause many events by sending native coin repeatedly.
 */
const growthsMax = 16;

/**
 * Returns the key of a payment: 48 bits of the block hash, the log index, and `claim` unless it is
 * 0. Keys are short, because the row of an address contains the keys of all reported payments.
 */
export const keyOf = ({ blockHash, logIndex, claim }: StoredPayment) =>
  `${blockHash.slice(2, 14)}.${logIndex}${claim === 0 ? "" : `.${claim}`}`;

/** Returns whether a reorganization removed a reported payment. */
export function hasRemoved({ told: reportedKeys }: ReportedPayments, { payments }: Paid): boolean {
  const present = new Set(payments.map(keyOf));
  return reportedKeys.some((key) => !present.has(key));
}

/** Returns the payments that are not reported yet. */
export function unreported(
  { told }: ReportedPayments,
  payments: readonly StoredPayment[],
): StoredPayment[] {
  const reportedKeys = new Set(told);
  return payments.filter((payment) => !reportedKeys.has(keyOf(payment)));
}

/** Returns true if the transfer log of a token payment is missing, but may still be found. */
export const isWaitingForSweep = (before: ReportedPayments, status: AddressStatus, paid: Paid) =>
  !paid.isSwept &&
  computeUnexplained(status, seenOf(status, paid)).token > BigInt(before.unexplained.token);

/**
 * Returns the payments to report now, in order, and the updated `before`. Payments with a transfer
 * log come first, followed by amounts without a transfer log.
 *
 * @param isOver whether the last reported state of the address was a closed state
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
 * requested token is negative if the known payments exceed the status's amount. For example, an
 * endpoint may have invented a log.
 */
function computeUnexplained(status: AddressStatus, seen: readonly StoredPayment[]): Unexplained {
  const explained = sumOf(seen.filter(({ token }) => isSame(token, status.token)));
  const coins = [...status.recoverable, ...status.recoveries].filter(
    ({ token }) => token === zeroAddress,
  );
  return { token: BigInt(movedOf(status).paid) - explained, coin: sumOf(coins) };
}

/**
 * Finds new payments that are already part of the amount in an earlier event. Their transfer logs
 * were unknown then. The caller must not report these payments again. Otherwise, a receiver that
 * adds up the amounts of all events would count the payments twice.
 *
 * @param unexplained the amount of the requested token that no known transfer log explains
 * @returns the keys of these payments, and `rest`: the reported amount whose transfer logs are
 *   still unknown
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
 * Returns the payments that have a transfer log and that no event has reported yet.
 *
 * @param unexplained the reported amount, in the requested token, for which no transfer log is
 *   known yet. To classify payments, the function assumes that this amount was paid first.
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
 * Reports unexplained amounts, which are amounts whose transfer logs are unknown. Returns a payment
 * for each increase of an unexplained amount, and the updated amounts. An unexplained amount is
 * native coin, or a token payment that arrived before the service had the address's record. Its
 * payer and its transaction are unknown.
 *
 * @param reported the unexplained amounts that earlier events reported
 * @param found the unexplained amounts at the status's block
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
    // The executor has not read the chain up to this block, so the log may still be found.
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
export const listedPaymentsMax = 8;

/**
 * Returns the payments that an event lists. An execution event lists the earlier payments in the
 * requested token. A recovery event lists all payments up to the status's block. Other events list
 * no payments. If there are too many payments, small payments are omitted first.
 *
 * @param type null for an event about another chain. Events about other chains list no payments.
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
  const chosen = new Set(ranked.slice(0, listedPaymentsMax));
  return {
    payments: all
      .filter((payment) => chosen.has(payment))
      .map(({ isSmall: _, isLookalike: __, claim: ___, ...payment }) => payment),
    paymentsOmitted: all.length - chosen.size,
  };
}
