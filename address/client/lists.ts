// An account's own lists: its addresses, and the events about them. They are the service's word
// and no proof: a record proves itself, and `executable-address/status` asks the chain.

import { describeValue } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import {
  address,
  among,
  chainId,
  count,
  flag,
  hash,
  integer,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  text,
  time,
  uint256,
} from "../shape.ts";
import { type AddressState, addressStatus, blockReference, state } from "../status/shape.ts";
import { expectAddress, expectId, shaped } from "./answers.ts";
import { UnprovenError } from "./errors.ts";

/** Times are ISO 8601 or a `Date`: `From` inclusive, `Until` exclusive. */
export type AddressQuery = {
  readonly order?: "newest" | "oldest";
  /** 1 to 100. */
  readonly limit?: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string;
  readonly state?: AddressState;
  readonly token?: Hex;
  readonly chainId?: number | bigint;
  /** Set by an API key; what a client ID claims never matches. */
  readonly reference?: string;
  readonly claimedReference?: string;
  readonly createdBy?: CreatedBy;
  /** Any part of either kind of reference, in any letter case. */
  readonly referenceContains?: string;
  readonly createdFrom?: string | Date;
  readonly createdUntil?: string | Date;
  readonly settledFrom?: string | Date;
  readonly settledUntil?: string | Date;
};

export const addressFields = {
  ...{ order: 1, limit: 1, cursor: 1, state: 1, token: 1, chainId: 1, reference: 1 },
  ...{ claimedReference: 1, createdBy: 1, referenceContains: 1, createdFrom: 1, createdUntil: 1 },
  ...{ settledFrom: 1, settledUntil: 1 },
} satisfies Record<keyof AddressQuery, 1>;

/** The credential that named the address, or created it if nobody named it. */
export const createdBy = among("api_key", "client_id");
export type CreatedBy = TypeOf<typeof createdBy>;

/** One of the account's addresses, as the service last saw it. */
export const listedAddress = object({
  address,
  /** The URL of the record. */
  recordUrl: text,
  /** The account's own name for the address, set by an API key. */
  reference: orNull(text),
  /** The name that a client ID claims. A client ID is public, so anyone can claim any name. */
  claimedReference: orNull(text),
  createdBy,
  createdAt: time,
  chainId,
  /** The intent's token. */
  token: address,
  /** The amount that the intent asks for, in base units of `token`. */
  amount: uint256,
  /**
   * The amount that a payer is asked for: more than `amount` if the calls accept a payment that is
   * a little short.
   */
  askedAmount: uint256,
  /** Unix seconds, inclusive. */
  expirationTimestamp: count,
  /** The state last seen, at `block`; `unfunded` if no money was ever seen. */
  state,
  /** Null if no money was ever seen. */
  block: orNull(blockReference),
  /** The transaction of the execution, or of the recovery that closed it. */
  transactionHash: orNull(hash),
  settledAt: orNull(time),
});
export type ListedAddress = TypeOf<typeof listedAddress>;

/** A page of the account's addresses. */
export const addressPage = object({
  items: list(listedAddress),
  /** The next page's `cursor`; null on the last page. With `order=oldest` there is always one. */
  next: orNull(text),
});
export type AddressPage = TypeOf<typeof addressPage>;

export const eventTypes = [
  "address.payment",
  "address.funded",
  "address.executed",
  "address.expired",
  "address.recovered",
  "address.surplus",
  "address.reverted",
] as const;
export type EventType = (typeof eventTypes)[number];

/**
 * The type of an event. New types may be added.
 *
 * @values eventTypes
 */
export const eventType = matching<EventType>(/^address\.[a-z_]+$/);

/** `cursor`: `next` of an earlier page. */
export type EventQuery = {
  readonly cursor?: string;
  readonly limit?: number;
  readonly types?: readonly EventType[];
};

export const eventFields = { cursor: 1, limit: 1, types: 1 } satisfies Record<keyof EventQuery, 1>;

/**
 * Money that arrived, according to the token's log. Without a log (native coin, or money that
 * arrived before the address was created) the balance grew by `amount` up to that block, and payer,
 * transaction and log are null.
 */
export const payment = object({
  transactionHash: orNull(hash),
  logIndex: orNull(count),
  blockNumber: count,
  blockHash: hash,
  payer: orNull(address),
  token: address,
  /** Base units. */
  amount: uint256,
});
export type Payment = TypeOf<typeof payment>;

/** A payment and its meaning for the intent. */
export const paymentNews = object({
  ...payment.properties,
  /**
   * `asked`: the amount is now complete. `partial`: it is still incomplete. `surplus`: it was
   * complete before. `other_token`: another token that the service lists. `wrong_token`: a
   * look-alike of a listed token, such as bridged USDC. Neither of these pays for anything.
   */
  kind: among("asked", "partial", "surplus", "other_token", "wrong_token"),
  /** It arrived after the execution or the expiry. */
  isLate: flag,
  /** Further payments of its size or kind have no event: the status contains their sum. */
  isLast: flag,
});
export type PaymentNews = TypeOf<typeof paymentNews>;

/** The subject of an event: an address and what happened to it. */
export const eventData = object({
  address,
  /** The account's own name for the address, set by an API key. */
  reference: orNull(text),
  /** The name that a client ID claims. A client ID is public, so anyone can claim any name. */
  claimedReference: orNull(text),
  createdBy,
  /** From 1, counted over the account's events about this address. */
  sequence: integer(1),
  /** The URL of the record. */
  recordUrl: text,
  /** The transaction of the payment, the execution or the newest recovery. */
  transactionHash: orNull(hash),
  /** Null except in `address.payment`. */
  payment: orNull(paymentNews),
  /**
   * In `address.executed` the payments of the token that arrived before it, in `address.recovered`
   * all payments; otherwise empty.
   *
   * @maxItems 8
   */
  payments: list(payment),
  /** The number of payments that are not listed. */
  paymentsOmitted: count,
  /** The status at `status.block`, with the newest 30 recoveries. */
  status: addressStatus,
  /** The number of older recoveries that are not listed. */
  recoveriesOmitted: count,
});

/** An event of the account. A webhook delivers it byte for byte. */
export const serviceEvent = object({
  /**
   * Also the `webhook-id` of every delivery. Deliveries may repeat.
   *
   * @pattern ^evt_[0-9a-f]{32}$
   */
  id: text,
  type: eventType,
  /** 1. Raised when a field is removed or changes its meaning; new fields and types do not. */
  version: integer(1),
  /** When the event was reported. */
  timestamp: time,
  data: eventData,
});
export type ServiceEvent = TypeOf<typeof serviceEvent>;

/** A page of the account's events, oldest first. */
export const eventPage = object({
  items: list(serviceEvent),
  /** The next page's `cursor`. */
  next: text,
  hasMore: flag,
});
export type EventPage = TypeOf<typeof eventPage>;

/** A test, sent only if somebody requests one. */
export const testEvent = object({
  /**
   * Also the `webhook-id` of every delivery.
   *
   * @pattern ^evt_[0-9a-f]{32}$
   */
  id: text,
  type: among("webhook.test"),
  /** 1, as of every event. */
  version: integer(1),
  timestamp: time,
  data: object({}),
});
export type TestEvent = TypeOf<typeof testEvent>;

/** @throws {UnprovenError} also for a row of another address */
export function proveListed(answer: unknown, address: Hex): ListedAddress {
  return expectAddress(shaped(listedAddress, answer, "row of an address"), address);
}

/** @throws {UnprovenError} */
export const proveAddressPage = (answer: unknown): AddressPage =>
  shaped(addressPage, answer, "page of addresses");

/** @throws {UnprovenError} */
export const proveEventPage = (answer: unknown): EventPage =>
  shaped(eventPage, answer, "page of events");

/** @throws {UnprovenError} also for an event with another ID */
export function proveEventById(answer: unknown, id: string): ServiceEvent {
  return expectId(shaped(serviceEvent, answer, "event"), id, "event");
}

/** Reads an event of a type that this library knows. @throws {UnprovenError} */
export const proveEventShape = (event: unknown): ServiceEvent => {
  const found = shaped(serviceEvent, event, "event");
  if (eventTypes.includes(found.type)) return found;
  throw new UnprovenError(`expected a known type, found ${describeValue(found.type)}`);
};
