// Which payments to an address are to be told, and what each is to what was asked for. Pure.

import { type Hex, zeroAddress } from "executable-address";
import { type AddressStatus, type EventReference, isSame } from "executable-address/status";
import type { EventType, Payment, PaymentNews } from "executable-address/webhook";
import { movedOf } from "./money.ts";
import { type KeptPayment, paymentsMax } from "./payments.ts";

/** The payments to an address that are known at the time of a status. */
export type Paid = {
  /** In the order of the chain; some may be above the status's block. */
  payments: readonly KeptPayment[];
  /** Whether the blocks below where money last came were read once more since. */
  isSwept: boolean;
  /** Blocks after the expiry, of those with payments. */
  lateBlocks: ReadonlySet<number>;
};

/** These were told: payments, by {@link keyOf}, and amounts that no log explains. */
export type ToldPayments = {
  told: string[];
  /** Base units of the asked token, and wei, that came without a log. */
  unexplained: { token: string; coin: string };
  /** Events of such amounts. */
  growths: number;
};

export const nothingTold: ToldPayments = {
  told: [],
  unexplained: { token: "0", coin: "0" },
  growths: 0,
};

/** Anybody may send coin again and again, and each growth is an event. */
const growthsMax = 16;

/** Short, for there may be 64 of an address: 48 bits of the block's hash, and the log's index. */
const keyOf = ({ blockHash, logIndex }: KeptPayment) => `${blockHash.slice(2, 14)}.${logIndex}`;

/** Whether a payment that was told has left the chain. */
export function isTakenBack({ told }: ToldPayments, { payments }: Paid): boolean {
  const standing = new Set(payments.map(keyOf));
  return told.some((key) => !standing.has(key));
}

/** Leaves out the payments that were told of. */
export function untold({ told }: ToldPayments, payments: readonly KeptPayment[]): KeptPayment[] {
  const before = new Set(told);
  return payments.filter((payment) => !before.has(keyOf(payment)));
}

/** Whether the token came without a log, and one may yet be found. */
export const isWaitingForSweep = (before: ToldPayments, status: AddressStatus, paid: Paid) =>
  !paid.isSwept && unexplainedOf(status, paid).token > BigInt(before.unexplained.token);

/**
 * @param isOver whether the address was closed when it was last told of
 * @returns what is to be told, in order, and what is told with it
 */
export function newPayments(
  before: ToldPayments,
  status: AddressStatus,
  paid: Paid,
  isOver: boolean,
): { news: PaymentNews[]; told: ToldPayments } {
  const seen = seenOf(status, paid);
  const found = foundLate(before, status, paid);
  const told = new Set([...before.told, ...found.keys]);
  const unexplained = { ...before.unexplained, token: String(found.token) };
  let sum = found.token;
  const count = { lookalike: 0, small: 0, other: 0 };
  const news = seen.flatMap((payment): PaymentNews[] => {
    const { isSmall, isLookalike, ...place } = payment;
    const kind = isLookalike
      ? "wrong_token"
      : paymentKind(status, payment.token, payment.amount, sum);
    if (kind !== "other_token" && kind !== "wrong_token") sum += BigInt(payment.amount);
    const nth = ++count[isLookalike ? "lookalike" : isSmall ? "small" : "other"];
    if (told.has(keyOf(payment))) return [];
    const isLate = status.execution
      ? isAfter(payment, status.execution)
      : paid.lateBlocks.has(payment.blockNumber);
    return [{ ...place, kind, isLate, isLast: nth === paymentsMax }];
  });
  const grown = growthsOf({ ...before, unexplained }, status, paid, isOver);
  return {
    news: [...news, ...grown.news],
    told: { ...grown.told, told: [...new Set([...told, ...seen.map(keyOf)])] },
  };
}

/**
 * A log may be found after its amount was told as a growth of the balance. It then explains what
 * was told, and has no event of its own: a receiver that adds amounts would count it twice.
 *
 * @returns the keys of such logs, and the base units that were told and that none explains yet
 */
function foundLate(before: ToldPayments, status: AddressStatus, paid: Paid) {
  const now = unexplainedOf(status, paid).token;
  const left = now > 0n ? now : 0n;
  let token = BigInt(before.unexplained.token);
  const keys = untold(before, seenOf(status, paid)).flatMap((payment) => {
    const amount = BigInt(payment.amount);
    const isOther = amount === 0n || !isSame(payment.token, status.token);
    if (isOther || token - amount < left) return [];
    token -= amount;
    return [keyOf(payment)];
  });
  return { keys, token };
}

/** Payments up to the status's block. */
const seenOf = ({ block }: AddressStatus, { payments }: Paid) =>
  payments.filter(({ blockNumber }) => blockNumber <= block.number);

function paymentKind(
  { token: wanted, amount: asked }: AddressStatus,
  token: string,
  amount: string,
  before: bigint,
): PaymentNews["kind"] {
  if (!isSame(token, wanted)) return "other_token";
  if (before >= BigInt(asked)) return "surplus";
  return before + BigInt(amount) >= BigInt(asked) ? "asked" : "partial";
}

const isAfter = (payment: KeptPayment, place: EventReference) =>
  payment.blockNumber === place.blockNumber
    ? payment.logIndex > place.logIndex
    : payment.blockNumber > place.blockNumber;

/**
 * Money that no log tells of: native coin, which a status shows once the address is closed, and
 * the token where it came before the address was created here. Payer and transaction are unknown.
 */
function growthsOf(before: ToldPayments, status: AddressStatus, paid: Paid, isOver: boolean) {
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
  return { news, told: { unexplained, growths: before.growths + news.length } };
}

/** Base units of the token beyond what logs tell of, and wei. */
function unexplainedOf(status: AddressStatus, paid: Paid) {
  const explained = seenOf(status, paid)
    .filter(({ token }) => isSame(token, status.token))
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  return { token: BigInt(movedOf(status).paid) - explained, coin: coinOf(status) };
}

/** Wei that ever came, as far as a status shows it. */
function coinOf({ recoverable, recoveries }: AddressStatus): bigint {
  return [...recoverable, ...recoveries]
    .filter(({ token }) => token === zeroAddress)
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

/** In the list of an event, at most. */
const listedMax = 8;

/**
 * The payments that an execution or a recovery rests on, those that are not small before others.
 */
export function listPayments(
  type: EventType,
  { block, execution, token }: AddressStatus,
  { payments }: Pick<Paid, "payments">,
): { payments: Payment[]; paymentsOmitted: number } {
  const rests: Partial<Record<EventType, (payment: KeptPayment) => boolean>> = {
    "address.executed": (payment) =>
      isSame(payment.token, token) && execution !== null && !isAfter(payment, execution),
    "address.recovered": ({ blockNumber }) => blockNumber <= block.number,
  };
  const all = payments.filter(rests[type] ?? (() => false));
  const ranked = all.toSorted((a, b) => Number(a.isSmall) - Number(b.isSmall));
  const chosen = new Set(ranked.slice(0, listedMax));
  return {
    payments: all
      .filter((payment) => chosen.has(payment))
      .map(({ isSmall: _, isLookalike: __, ...payment }) => payment),
    paymentsOmitted: all.length - chosen.size,
  };
}
