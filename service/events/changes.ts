// Compares an address's status with the last reported status, and writes an event for each
// difference. An event has the same body, byte for byte, in the event list and in webhooks. No
// function in this file has side effects.

import type { Hex } from "executable-address";
import {
  type AddressState,
  type AddressStatus,
  isOpenState,
  type TokenAmount,
} from "executable-address/status";
import type { EventType, PaymentNews, ServiceEvent } from "executable-address/webhook";
import { toIso } from "../flow/days.ts";
import type { Named } from "../store/owners.ts";
import { recordPath } from "../store/record.ts";
import type { ChangeElsewhere, ReportedElsewhere } from "./elsewhere/changes.ts";
import { type Moved, movedOf, nothingMoved } from "./money.ts";
import {
  hasRemoved,
  listPayments,
  newPayments,
  nothingReported,
  type Paid,
  type ReportedPayments,
} from "./paid.ts";

/** The parts of an address's last reported status that are compared with its next status. */
export type KnownStatus = {
  state: AddressState;
  /** The execution's transaction hash, block hash, and log index, separated by spaces. */
  execution: string | null;
  /**
   * The number of reported recoveries. `lastRecovery` is the last reported recovery, in the format
   * of `execution`.
   */
  recoveries: number;
  lastRecovery: string | null;
  recoverable: TokenAmount[];
  /** The amounts of this address that the account's daily sums already include (money.ts). */
  moved: Moved;
  payments: ReportedPayments;
  elsewhere: ReportedElsewhere;
};

export const nothingKnown: KnownStatus = {
  state: "unfunded",
  execution: null,
  recoveries: 0,
  lastRecovery: null,
  recoverable: [],
  moved: nothingMoved,
  payments: nothingReported,
  elsewhere: {},
};

type LogPosition = { transactionHash: string; blockHash: string; logIndex: number };
const toKey = (position: LogPosition | null | undefined) =>
  position ? `${position.transactionHash} ${position.blockHash} ${position.logIndex}` : null;

/** An event about the intent's chain. */
type OwnPayment = { kind: "own"; type: "address.payment"; payment: PaymentNews };
type OwnStep = { kind: "own"; type: StepType | "address.reverted" };
type OwnChange = OwnPayment | OwnStep;

/** An event whose body is not written yet. */
export type Change = OwnChange | ChangeElsewhere;

/**
 * Returns the events for the changes from `known` to `status`, in order. Also returns the new
 * `known` for the next comparison. If a reorganization reverted a reported change, the first event
 * is `address.reverted`. The next events report the whole current status again.
 */
export function compareStatuses(
  known: KnownStatus,
  status: AddressStatus,
  paid: Paid,
): { changes: OwnChange[]; known: KnownStatus } {
  if (isReverted(known, status) || hasRemoved(known.payments, paid)) {
    const again = compareStatuses({ ...nothingKnown, elsewhere: known.elsewhere }, status, paid);
    return { ...again, changes: [{ kind: "own", type: "address.reverted" }, ...again.changes] };
  }
  const now: Omit<KnownStatus, "payments"> = {
    elsewhere: known.elsewhere,
    state: status.state,
    execution: toKey(status.execution),
    recoveries: status.recoveries.length,
    lastRecovery: toKey(status.recoveries.at(-1)),
    recoverable: status.recoverable,
    moved: movedOf(status),
  };
  const isOver = !isOpenState(known.state);
  const { news, reported } = newPayments(known.payments, status, paid, isOver);
  const payments = news.map(
    (payment): OwnPayment => ({ kind: "own", type: "address.payment", payment }),
  );
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
    .map((type): OwnStep => ({ kind: "own", type }));
  return {
    changes: [
      ...payments.filter(({ payment }) => !payment.isLate),
      ...steps.filter(({ type }) => !followLate.has(type)),
      ...payments.filter(({ payment }) => payment.isLate),
      ...steps.filter(({ type }) => followLate.has(type)),
    ],
    known: { ...now, payments: reported },
  };
}

type StepType = Exclude<EventType, "address.payment" | "address.reverted">;

/**
 * The types of events that a late payment can cause. The `address.payment` event of the late
 * payment comes first.
 */
const followLate: ReadonlySet<EventType> = new Set(["address.surplus", "address.recovered"]);

/**
 * Returns whether a reorganization reverted a reported execution, recovery, expiration, or funding.
 */
function isReverted(known: KnownStatus, status: AddressStatus): boolean {
  if (known.execution && toKey(status.execution) !== known.execution) return true;
  const lastReported = status.recoveries[known.recoveries - 1];
  if (known.recoveries > 0 && toKey(lastReported) !== known.lastRecovery) return true;
  const { state } = status;
  if (known.state === "expired" && isOpenState(state)) return true;
  return known.state === "funded" && (state === "unfunded" || state === "partially_funded");
}

/** Returns whether an execution or a late payment left a surplus that is not reported yet. */
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

/** The maximum size of an event's body. */
export const eventBytesMax = 20_000;
/**
 * The maximum number of recoveries in an event. An address can have thousands of recoveries. The
 * event contains the newest recoveries, and the number of omitted recoveries.
 */
const recoveriesMax = 30;

/**
 * The version of the event format. The version increases when a field is removed or changes its
 * meaning. New fields and event types do not increase the version.
 */
export const eventVersion = 1;

type EventParts = {
  id: string;
  change: Change;
  atMs: number;
  named: Named;
  sequence: number;
  publicUrl: string;
};

/** Returns the event's body: JSON of at most {@link eventBytesMax} bytes. */
export function writeEventBody(parts: EventParts, status: AddressStatus, paid: Paid): string {
  const { address, recoveries } = status;
  const { change } = parts;
  const { type } = change;
  const newest = recoveries.slice(-recoveriesMax);
  const body: ServiceEvent = {
    id: parts.id,
    type,
    version: eventVersion,
    timestamp: toIso(parts.atMs),
    data: {
      address,
      ...parts.named,
      sequence: parts.sequence,
      recordUrl: `${parts.publicUrl}${recordPath(address)}`,
      chainId: change.kind === "own" ? status.chainId : change.chainId,
      transactionHash: findTransactionHash(change, status),
      payment: change.type === "address.payment" ? change.payment : null,
      returned: isReturn(change) ? change.amounts : [],
      ...listPayments(change.kind === "own" ? type : null, status, paid),
      status: { ...status, recoveries: newest },
      recoveriesOmitted: recoveries.length - newest.length,
    },
  };
  return JSON.stringify(body);
}

/** Returns whether the event reports amounts that the executor sent back on another chain. */
const isReturn = (change: Change) =>
  change.kind === "elsewhere" && change.type === "address.recovered";

/**
 * Returns the hash of the event's transaction: a payment, the execution, or the newest recovery.
 * Returns null if the event reports no transaction.
 */
function findTransactionHash(change: Change, status: AddressStatus): Hex | null {
  if (change.type === "address.payment") return change.payment.transactionHash;
  if (change.kind === "elsewhere") return isReturn(change) ? change.transactionHash : null;
  const { type } = change;
  if (type === "address.executed" || type === "address.surplus") {
    return status.execution?.transactionHash ?? null;
  }
  return type === "address.recovered" ? (status.recoveries.at(-1)?.transactionHash ?? null) : null;
}
