// An account's lists of its addresses and of the events about these addresses. The service's lists
// come without proof. To verify an entry, verify the record and read its status from the chain with
// `executable-address/status`.

import { describeValue, type NamesOf, refuseUnknown } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import {
  address,
  among,
  chainId,
  count,
  either,
  flag,
  hash,
  integer,
  list,
  matching,
  object,
  orNull,
  type Shape,
  type TypeOf,
  text,
  time,
  uint256,
} from "../shape.ts";
import {
  type AddressState,
  addressStatus,
  blockReference,
  state,
  tokenAmount,
} from "../status/shape.ts";
import { expectAddress, expectId, shaped } from "./answers.ts";
import { UnprovenError } from "./errors.ts";
import { writeQuery } from "./request.ts";

/**
 * The schema of a field that earlier versions of the service omit. This function is not in
 * `shape.ts`, because pages load that file but never use optional fields.
 */
export const optional = <S extends Shape>(shape: S): Shape<TypeOf<S> | undefined> =>
  either(shape, { type: "undefined" } as Shape<undefined>);

/** Times are ISO 8601 text or a `Date`. `…From` is inclusive, and `…Until` is exclusive. */
export type AddressQuery = {
  readonly order?: "newest" | "oldest";
  /** 1 to 100. */
  readonly limit?: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string;
  readonly state?: AddressState;
  readonly token?: Hex;
  readonly chainId?: number | bigint;
  /** A reference that was set with an API key. References set with a client ID do not match. */
  readonly reference?: string;
  readonly claimedReference?: string;
  readonly createdBy?: CreatedBy;
  /**
   * A part of the reference, in any letter case. The reference can be from an API key or a client
   * ID.
   */
  readonly referenceContains?: string;
  readonly createdFrom?: string | Date;
  readonly createdUntil?: string | Date;
  readonly settledFrom?: string | Date;
  readonly settledUntil?: string | Date;
};

const addressFields: NamesOf<AddressQuery> = {
  order: 1,
  limit: 1,
  cursor: 1,
  state: 1,
  token: 1,
  chainId: 1,
  reference: 1,
  claimedReference: 1,
  createdBy: 1,
  referenceContains: 1,
  createdFrom: 1,
  createdUntil: 1,
  settledFrom: 1,
  settledUntil: 1,
};

/**
 * The kind of credential that set the reference. If the address has no reference, this is the kind
 * of credential that created the address.
 */
export const createdBy = among("api_key", "client_id");
export type CreatedBy = TypeOf<typeof createdBy>;

/** One of the account's addresses, as the service last observed it. */
export const listedAddress = object({
  address,
  /** The URL of the record. */
  recordUrl: text,
  /** The reference that was set with an API key: the account's own name for the address. */
  reference: orNull(text),
  /**
   * The reference that was set with a client ID. Client IDs are public, so anyone can set any
   * reference.
   */
  claimedReference: orNull(text),
  createdBy,
  createdAt: time,
  chainId,
  /** The intent's token. */
  token: address,
  /** The requested amount in base units of `token`. */
  amount: uint256,
  /**
   * The amount to request from payers. If the calls accept a slightly smaller payment, `amount` is
   * the smallest accepted payment, and this amount is higher.
   */
  requestedAmount: uint256,
  /** The last second, in Unix time, in which the calls can be executed. */
  expirationTimestamp: count,
  /**
   * The last state that the service observed, at `block`. If no money was observed, the state is
   * `unfunded` or, after the expiration time, `expired`.
   */
  state,
  /** The block of the last observation, or null if no money was observed. */
  block: orNull(blockReference),
  /** The transaction of the execution, or of the recovery that closed the address. */
  transactionHash: orNull(hash),
  settledAt: orNull(time),
});
export type ListedAddress = TypeOf<typeof listedAddress>;

/** A page of the account's addresses. */
export const addressPage = object({
  items: list(listedAddress),
  /**
   * The `cursor` for the next page, or null on the last page. With `order=oldest`, the cursor is
   * never null.
   */
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

const eventFields: NamesOf<EventQuery> = { cursor: 1, limit: 1, types: 1 };

/**
 * A payment to the address, as recorded in a log of the token. The service has no log for payments
 * in native coin, or for payments before the address was created. For a payment without a log,
 * `amount` is the increase of the balance. The payer, the transaction, and the log index are then
 * null.
 */
export const payment = object({
  transactionHash: orNull(hash),
  logIndex: orNull(count),
  blockNumber: count,
  blockHash: hash,
  payer: orNull(address),
  token: address,
  /** The amount in base units. */
  amount: uint256,
});
export type Payment = TypeOf<typeof payment>;

export const paymentKinds = [
  "requested",
  "partial",
  "surplus",
  "other_token",
  "wrong_token",
  "other_chain",
] as const;

/** A payment, and how it counts toward the requested amount. */
export const paymentNews = object({
  ...payment.properties,
  /**
   * - `requested`: the payment completes the requested amount.
   * - `partial`: the amount is still incomplete.
   * - `surplus`: the amount was already complete.
   * - `other_token`: the payment is in a different listed token.
   * - `wrong_token`: the payment is in a look-alike of a listed token, such as bridged USDC.
   * - `other_chain`: the payment is on the event's `chainId` instead of the intent's chain.
   *
   * Payments of the last three kinds do not count toward the amount. New kinds may be added.
   *
   * @values paymentKinds
   */
  kind: matching<(typeof paymentKinds)[number]>(/^[a-z_]+$/),
  /**
   * True if the payment arrived after the execution or the expiration time. False for
   * `other_chain`.
   */
  isLate: flag,
  /**
   * True in the last payment event before a limit is reached. The number of payment events per
   * address is limited, separately for each of five groups. The groups are normal payments, small
   * payments, look-alikes, payments without a log, and payments on other chains. When a group has
   * reached its limit, only its unusually large payments cause more events. Payments without a log
   * then cause no events, not even if they are large. The balances in the status include all
   * payments.
   */
  isLast: flag,
});
export type PaymentNews = TypeOf<typeof paymentNews>;

/** The address that an event is about, and what happened to the address. */
export const eventData = object({
  address,
  /** The reference that was set with an API key: the account's own name for the address. */
  reference: orNull(text),
  /**
   * The reference that was set with a client ID. Client IDs are public, so anyone can set any
   * reference.
   */
  claimedReference: orNull(text),
  createdBy,
  /** The position of the event among the account's events about this address, starting at 1. */
  sequence: integer(1),
  /** The URL of the record. */
  recordUrl: text,
  /**
   * The chain on which the event happened. If `chainId` differs from `status.chainId`, money
   * arrived or was returned on the chain `chainId`. Earlier versions of the service omit this
   * field. Their events are about the intent's chain.
   */
  chainId: optional(chainId),
  /**
   * The transaction of the payment, the execution, or the newest recovery, on the chain `chainId`.
   */
  transactionHash: orNull(hash),
  /**
   * The returned amounts, in an `address.recovered` event whose `chainId` is not the intent's
   * chain. In all other events, the list is empty. Absent in events of earlier versions of the
   * service.
   */
  returned: optional(list(tokenAmount)),
  /** The payment of an `address.payment` event; null in all other events. */
  payment: orNull(paymentNews),
  /**
   * An `address.executed` event lists the payments in the intent's token that arrived before the
   * execution. An `address.recovered` event lists all payments. In all other events, the list is
   * empty.
   *
   * @maxItems listedPaymentsMax
   */
  payments: list(payment),
  /** The number of reported payments that `payments` omits. */
  paymentsOmitted: count,
  /** The status at `status.block`, with the newest recoveries. */
  status: addressStatus,
  /** The number of older recoveries that `status` omits. */
  recoveriesOmitted: count,
});

/** An event of the account. The body of a webhook delivery has the same bytes as the event. */
export const serviceEvent = object({
  /**
   * The ID of the event, which is also the `webhook-id` of its deliveries. An event can be
   * delivered more than once.
   *
   * @pattern eventIdPattern
   */
  id: text,
  type: eventType,
  /**
   * The version of the format: 1. The version increases when a field is removed or changes its
   * meaning. New fields and types do not increase the version.
   */
  version: integer(1),
  /** The time at which the service recorded the event. */
  timestamp: time,
  data: eventData,
});
export type ServiceEvent = TypeOf<typeof serviceEvent>;

/** A page of the account's events, oldest first. */
export const eventPage = object({
  items: list(serviceEvent),
  /** The `cursor` for the next page. */
  next: text,
  hasMore: flag,
});
export type EventPage = TypeOf<typeof eventPage>;

/** A test event, which is sent only on request. */
export const testEvent = object({
  /**
   * The ID of the event, which is also the `webhook-id` of its deliveries.
   *
   * @pattern eventIdPattern
   */
  id: text,
  type: among("webhook.test"),
  /** The version of the format, as in other events. */
  version: integer(1),
  timestamp: time,
  data: object({}),
});
export type TestEvent = TypeOf<typeof testEvent>;

type Get = (path: string) => Promise<unknown>;

/** @throws {UnprovenError} if the row is malformed or about a different address */
export async function readListed(get: Get, address: Hex): Promise<ListedAddress> {
  const answer = await get(`/address/${address}/mine`);
  return expectAddress(shaped(listedAddress, answer, "row of an address"), address);
}

/** @throws {TypeError} for an unknown field of the query, {UnprovenError} for a malformed page */
export async function readAddresses(
  get: Get,
  query: AddressQuery,
  cursor: string | undefined,
): Promise<AddressPage> {
  refuseUnknown(query, addressFields, "field");
  const answer = await get(`/addresses${writeQuery({ ...query, cursor })}`);
  return shaped(addressPage, answer, "page of addresses");
}

/** @throws as {@link readAddresses} */
export async function readEvents(
  get: Get,
  query: EventQuery,
  cursor: string | undefined,
): Promise<EventPage> {
  refuseUnknown(query, eventFields, "field");
  const path = `/events${writeQuery({ ...query, cursor, types: query.types?.join(",") })}`;
  return shaped(eventPage, await get(path), "page of events");
}

/** @throws {UnprovenError} if the event is malformed or has a different ID */
export async function readEvent(get: Get, id: string): Promise<ServiceEvent> {
  const answer = await get(`/events/${encodeURIComponent(id)}`);
  return expectId(shaped(serviceEvent, answer, "event"), id, "event");
}

/**
 * Reads an event of a type that this library knows.
 * @throws {UnprovenError}
 */
export const proveEventShape = (event: unknown): ServiceEvent => {
  const found = shaped(serviceEvent, event, "event");
  if (eventTypes.includes(found.type)) return found;
  throw new UnprovenError(`expected a known type, found ${describeValue(found.type)}`);
};
