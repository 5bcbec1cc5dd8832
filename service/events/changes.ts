// Compares two statuses of an address and returns the events between them. Pure.

import {
  type AddressState,
  type AddressStatus,
  isOpenState,
  type TokenAmount,
} from "executable-address/status";
import type { EventType, PaymentNews } from "executable-address/webhook";
import { type Moved, movedOf, nothingMoved } from "./money.ts";
import { isTakenBack, newPayments, nothingTold, type Paid, type ToldPayments } from "./paid.ts";

/** The last reported state of an address: enough to find what is new and what was undone. */
export type KnownStatus = {
  state: AddressState;
  /** The execution's place: `transactionHash blockHash logIndex`. */
  execution: string | null;
  /** The number of reported recoveries, and the last of them. */
  recoveries: number;
  lastRecovery: string | null;
  recoverable: TokenAmount[];
  /** The sum so far, of the intent's token. */
  moved: Moved;
  payments: ToldPayments;
};

/** The state before any report. */
export const nothingKnown: KnownStatus = {
  state: "unfunded",
  execution: null,
  recoveries: 0,
  lastRecovery: null,
  recoverable: [],
  moved: nothingMoved,
  payments: nothingTold,
};

type LogPosition = { transactionHash: string; blockHash: string; logIndex: number };
const keyOf = (position: LogPosition | null | undefined) =>
  position ? `${position.transactionHash} ${position.blockHash} ${position.logIndex}` : null;

/** Only `address.payment` has a `payment`. */
export type Change = { type: EventType; payment?: PaymentNews };

/**
 * Returns the events that lead from `known` to `status`, in order, and the new known state. If the
 * chain undid a reported fact, `address.reverted` comes first, and then the current facts as if
 * nothing had been reported.
 */
export function changesOf(
  known: KnownStatus,
  status: AddressStatus,
  paid: Paid,
): { changes: Change[]; known: KnownStatus } {
  if (isReverted(known, status) || isTakenBack(known.payments, paid)) {
    const again = changesOf(nothingKnown, status, paid);
    return { ...again, changes: [{ type: "address.reverted" }, ...again.changes] };
  }
  const now: Omit<KnownStatus, "payments"> = {
    state: status.state,
    execution: keyOf(status.execution),
    recoveries: status.recoveries.length,
    lastRecovery: keyOf(status.recoveries.at(-1)),
    recoverable: status.recoverable,
    moved: movedOf(status),
  };
  const isOver = !isOpenState(known.state);
  const { news, told } = newPayments(known.payments, status, paid, isOver);
  const payments = news.map((payment): Change => ({ type: "address.payment", payment }));
  const isExecutedNow = now.execution !== known.execution;
  const isNew: Record<StepType, boolean> = {
    "address.funded": now.state === "funded" && known.state !== "funded",
    "address.expired": now.state === "expired" && known.state !== "expired",
    "address.executed": isExecutedNow,
    "address.surplus": hasSurplus(known, status, isExecutedNow),
    "address.recovered": now.recoveries > known.recoveries,
  };
  const steps = (Object.keys(isNew) as StepType[])
    .filter((type) => isNew[type])
    .map((type): Change => ({ type }));
  return {
    changes: [
      ...payments.filter(({ payment }) => !payment!.isLate),
      ...steps.filter(({ type }) => !followLate.has(type)),
      ...payments.filter(({ payment }) => payment!.isLate),
      ...steps.filter(({ type }) => followLate.has(type)),
    ],
    known: { ...now, payments: told },
  };
}

type StepType = Exclude<EventType, "address.payment" | "address.reverted">;

/** Late money may be their cause, so its event comes first. */
const followLate: ReadonlySet<EventType> = new Set(["address.surplus", "address.recovered"]);

/**
 * Only payments move open states up and down; anything else goes back only because of a
 * reorganization.
 */
function isReverted(known: KnownStatus, status: AddressStatus): boolean {
  if (known.execution && keyOf(status.execution) !== known.execution) return true;
  const lastSaid = status.recoveries[known.recoveries - 1];
  if (known.recoveries > 0 && keyOf(lastSaid) !== known.lastRecovery) return true;
  const { state } = status;
  if (known.state === "expired" && isOpenState(state)) return true;
  return known.state === "funded" && (state === "unfunded" || state === "partially_funded");
}

/** After an execution: more arrived than the calls used, or it arrived late. */
function hasSurplus(known: KnownStatus, status: AddressStatus, isExecutedNow: boolean): boolean {
  const { state, execution, recoverable } = status;
  if (state !== "executed" && state !== "recovered") return false;
  if (isExecutedNow && execution && execution.left !== "0") return true;
  const before = new Map(known.recoverable.map(({ token, amount }) => [token, BigInt(amount)]));
  const isOver = known.state === "executed" || known.state === "recovered";
  return recoverable.some(
    ({ token, amount }) => BigInt(amount) > (isOver ? (before.get(token) ?? 0n) : 0n),
  );
}
