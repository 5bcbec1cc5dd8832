// An account's own lists: its addresses, and the events about them. They are the service's word
// and no proof: a record proves itself, and `executable-address/status` asks the chain.

import { plainOf } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import type { AddressState, AddressStatus, BlockReference } from "../status/shape.ts";
import { addressStatus, ofAddress, ofId } from "./answers.ts";
import { UnprovenError } from "./errors.ts";
import {
  address,
  amount,
  block,
  count,
  hash,
  integer,
  list,
  matching,
  object,
  orNull,
  type Shape,
  shaped,
  state,
  text,
} from "./shape.ts";

/** Times are ISO 8601: `From` inclusive, `Until` exclusive. */
export type AddressQuery = {
  readonly order?: "newest" | "oldest";
  /** 1 to 100. */
  readonly limit?: number;
  /** `next` of an earlier page of the same query. */
  readonly cursor?: string;
  readonly state?: AddressState;
  readonly token?: Hex;
  readonly chainId?: number;
  readonly reference?: string;
  /** Any part of the reference, in any letter case. */
  readonly referenceContains?: string;
  readonly createdFrom?: string;
  readonly createdUntil?: string;
  readonly settledFrom?: string;
  readonly settledUntil?: string;
};

/** Anybody who reads the page has its client ID: take no reference of it for the server's. */
export type CreatedBy = "api_key" | "client_id";

export type ListedAddress = {
  address: Hex;
  recordUrl: string;
  reference: string | null;
  createdBy: CreatedBy;
  createdAt: string;
  chainId: number;
  token: Hex;
  amount: string;
  expirationTimestamp: number;
  /** The state last seen, at `block`; `unfunded` and null where no money was ever seen. */
  state: AddressState;
  block: BlockReference | null;
  /** The transaction of the execution, or of the recovery that closed it. */
  transactionHash: Hex | null;
  settledAt: string | null;
};

/** `next` is null where no more fit; oldest first there is always one, to go on from later. */
export type AddressPage = { items: ListedAddress[]; next: string | null };

/** All that the service tells an account; who lists them takes them from here. */
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

/** `cursor`: `next` of an earlier page. */
export type EventQuery = {
  readonly cursor?: string;
  readonly limit?: number;
  readonly types?: readonly EventType[];
};

/**
 * Money that came: what the token's log says, in base units. Without a log (native coin, or what
 * came before the address was created) the balance grew by `amount` up to that block, and payer,
 * transaction and log are null.
 */
export type Payment = {
  transactionHash: Hex | null;
  logIndex: number | null;
  blockNumber: number;
  blockHash: Hex;
  payer: Hex | null;
  token: Hex;
  amount: string;
};

/**
 * - `asked`: with it the amount asked for is there; `partial`: still less; `surplus`: it was before
 * - `other_token`: not of the token asked for
 */
const paymentKinds = ["asked", "partial", "surplus", "other_token"] as const;

export type PaymentNews = Payment & {
  kind: (typeof paymentKinds)[number];
  /** It came after the execution or the expiry. */
  isLate: boolean;
  /** Others of its size or kind have no event: the status has their sum. */
  isLast: boolean;
};

/** A webhook carries it byte for byte. */
export type ServiceEvent = {
  /** Also `webhook-id`: deliveries may repeat, ids tell. */
  id: string;
  type: EventType;
  version: number;
  /** When it was said, ISO 8601. */
  timestamp: string;
  data: {
    address: Hex;
    reference: string | null;
    createdBy: CreatedBy;
    /** From 1, of the account's events about this address. */
    sequence: number;
    recordUrl: string;
    transactionHash: Hex | null;
    /** Null but in `address.payment`. */
    payment: PaymentNews | null;
    /** In `address.executed` and `address.recovered`: those that went before, at most 8. */
    payments: Payment[];
    paymentsOmitted: number;
    /** At `status.block`; of its recoveries the newest 30. */
    status: AddressStatus;
    recoveriesOmitted: number;
  };
};

export type EventPage = { items: ServiceEvent[]; next: string; hasMore: boolean };

/** `?name=value&…` of what is defined, or nothing. */
export function queryOf(query: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

export const time: Shape = (value) => typeof value === "string" && !Number.isNaN(Date.parse(value));

const createdBy = matching(/^(api_key|client_id)$/);

const listedAddress = object({
  address,
  recordUrl: text,
  reference: orNull(text),
  createdBy,
  createdAt: time,
  chainId: integer(1),
  token: address,
  amount,
  expirationTimestamp: count,
  state,
  block: orNull(block),
  transactionHash: orNull(hash),
  settledAt: orNull(time),
} satisfies Record<keyof ListedAddress, Shape>);

const addressPage = object({
  items: list(listedAddress),
  next: orNull(text),
} satisfies Record<keyof AddressPage, Shape>);

const payment = {
  transactionHash: orNull(hash),
  logIndex: orNull(count),
  blockNumber: count,
  blockHash: hash,
  payer: orNull(address),
  token: address,
  amount,
} satisfies Record<keyof Payment, Shape>;

const isBoolean: Shape = (value) => typeof value === "boolean";

const paymentNews = object({
  ...payment,
  kind: (value) => (paymentKinds as readonly unknown[]).includes(value),
  isLate: isBoolean,
  isLast: isBoolean,
} satisfies Record<keyof PaymentNews, Shape>);

const serviceEvent = object({
  id: text,
  type: matching(/^address\.[a-z_]+$/),
  version: integer(1),
  timestamp: time,
  data: object({
    address,
    reference: orNull(text),
    createdBy,
    sequence: integer(1),
    recordUrl: text,
    transactionHash: orNull(hash),
    payment: orNull(paymentNews),
    payments: list(object(payment)),
    paymentsOmitted: count,
    status: object(addressStatus),
    recoveriesOmitted: count,
  } satisfies Record<keyof ServiceEvent["data"], Shape>),
} satisfies Record<keyof ServiceEvent, Shape>);

const eventPage = object({
  items: list(serviceEvent),
  next: text,
  hasMore: isBoolean,
} satisfies Record<keyof EventPage, Shape>);

/** @throws {UnprovenError} also of another address than `asked` */
export function proveListed(answer: unknown, asked: Hex): ListedAddress {
  return ofAddress(shaped<ListedAddress>(answer, listedAddress, "row of an address"), asked);
}

/** @throws {UnprovenError} */
export const proveAddressPage = (answer: unknown): AddressPage =>
  shaped(answer, addressPage, "page of addresses");

/** @throws {UnprovenError} */
export const proveEventPage = (answer: unknown): EventPage =>
  shaped(answer, eventPage, "page of events");

/** @throws {UnprovenError} also of another event than `id` */
export function proveEventOf(answer: unknown, id: string): ServiceEvent {
  return ofId(shaped<ServiceEvent>(answer, serviceEvent, "event"), id, "event");
}

/** Reads an event of a type that this library knows. @throws {UnprovenError} */
export const proveEventShape = (event: unknown): ServiceEvent => {
  const found = shaped<ServiceEvent>(event, serviceEvent, "event");
  if (eventTypes.includes(found.type)) return found;
  throw new UnprovenError(`wanted a known type, found ${plainOf(found.type)}`);
};
