// The body of an event: the same bytes in an account's list and in its webhooks.

import type { Hex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import type { ServiceEvent } from "executable-address/webhook";
import { toIso } from "../flow/days.ts";
import type { Named } from "../store/references.ts";
import type { Change } from "./changes.ts";
import { listPayments, type Paid } from "./paid.ts";

/** Bytes of a body, at most. */
export const eventBytesMax = 20_000;
/** An old vault may have returned thousands of tokens; what is omitted is counted. */
const recoveriesMax = 30;

/** Raised when a field goes or changes its meaning; new fields and types do not raise it. */
export const eventVersion = 1;

type EventParts = {
  id: string;
  change: Change;
  atMs: number;
  named: Named;
  sequence: number;
  publicUrl: string;
};

/** JSON of at most {@link eventBytesMax} bytes. */
export function eventBody(parts: EventParts, status: AddressStatus, paid: Paid): string {
  const { address, recoveries } = status;
  const { type, payment = null } = parts.change;
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
      recordUrl: `${parts.publicUrl}/v1/address/${address}`,
      transactionHash: transactionOf(parts.change, status),
      payment,
      ...listPayments(type, status, paid),
      status: { ...status, recoveries: newest },
      recoveriesOmitted: recoveries.length - newest.length,
    },
  };
  return JSON.stringify(body);
}

/** The payment's, the execution's, or the newest recovery's. */
function transactionOf({ type, payment }: Change, status: AddressStatus): Hex | null {
  if (payment) return payment.transactionHash;
  if (type === "address.executed" || type === "address.surplus") {
    return status.execution?.transactionHash ?? null;
  }
  return type === "address.recovered" ? (status.recoveries.at(-1)?.transactionHash ?? null) : null;
}
