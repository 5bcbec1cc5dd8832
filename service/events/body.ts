// The body of an event: the same bytes in an account's list and in its webhooks.

import type { AddressStatus, EventReference } from "executable-address/status";
import type { EventType } from "executable-address/webhook";
import type { CreatedBy } from "./references.ts";

/** Bytes of a body, at most. */
export const eventBytesMax = 20_000;
/** An old vault may have returned thousands of tokens; what is omitted is counted. */
const recoveriesMax = 30;

type EventData = {
  address: string;
  reference: string | null;
  /** A reference by `client_id` is the word of somebody who read the page. */
  createdBy: CreatedBy;
  /** From 1, of this account's events about this address. */
  sequence: number;
  /** The record is there, for the reader to verify. */
  recordUrl: string;
  /** The transaction that did it, where one did. */
  transactionHash: string | null;
  /** At `status.block`: what the address is. The newest recoveries only. */
  status: AddressStatus;
  recoveriesOmitted: number;
};

/** Raised when a field changes its meaning; new fields do not. */
const version = 1;

export type EventBody = {
  id: string;
  type: EventType;
  version: number;
  timestamp: string;
  data: EventData;
};

type Told = {
  id: string;
  type: EventType;
  atMs: number;
  reference: string | null;
  createdBy: CreatedBy;
  sequence: number;
  publicUrl: string;
};

/** JSON of at most {@link eventBytesMax} bytes. */
export function eventBody(told: Told, status: AddressStatus): string {
  const { address, recoveries } = status;
  const newest = recoveries.slice(-recoveriesMax);
  const body: EventBody = {
    id: told.id,
    type: told.type,
    version,
    timestamp: new Date(told.atMs).toISOString(),
    data: {
      address,
      reference: told.reference,
      createdBy: told.createdBy,
      sequence: told.sequence,
      recordUrl: `${told.publicUrl}/v1/address/${address}`,
      transactionHash: transactionOf(told.type, status),
      status: { ...status, recoveries: newest },
      recoveriesOmitted: recoveries.length - newest.length,
    },
  };
  return JSON.stringify(body);
}

/** The execution's, or the newest recovery's. */
function transactionOf(type: EventType, status: AddressStatus): string | null {
  const last: EventReference | undefined = status.recoveries.at(-1);
  if (type === "address.executed" || type === "address.surplus") {
    return status.execution?.transactionHash ?? null;
  }
  return type === "address.recovered" ? (last?.transactionHash ?? null) : null;
}
