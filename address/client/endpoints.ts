// Manages the account's webhook endpoints with an API key. The client does not retry a request that
// changes something. If the response to a rotation is lost, the receiver still uses the old secret.
// A retry would rotate the secret again, which invalidates the old secret immediately.

import {
  among,
  chainId,
  count,
  integer,
  list,
  matching,
  object,
  orNull,
  type Shape,
  type TypeOf,
  text,
  time,
} from "../shape.ts";
import { expectId, shaped } from "./answers.ts";
import type { Answered, CallOptions } from "./call.ts";
import { type EventType, eventType, optional } from "./lists.ts";
import { publicKeyPrefix, secretPrefix } from "./webhook-keys.ts";

/** A webhook endpoint of the account. Times are ISO 8601. */
export const endpoint = object({
  /** @pattern endpointIdPattern */
  id: text,
  url: text,
  /** The types of events that are sent. If the list is empty, all types are sent. */
  types: list(eventType),
  state: among("active", "paused", "disabled"),
  /** The reason why the endpoint is disabled, otherwise null. */
  reason: orNull(text),
  /**
   * The time of the first failed attempt since the last success. Null if the last attempt
   * succeeded.
   */
  failingSince: orNull(time),
  /**
   * Until this time, deliveries are also signed with the old secret. Null if no old secret is in
   * use.
   */
  oldSecretUntil: orNull(time),
  createdAt: time,
});
export type Endpoint = TypeOf<typeof endpoint>;

const secret = matching(new RegExp(`^${secretPrefix}[A-Za-z0-9+/]{43}=$`));

/** A new webhook endpoint, with its secret. */
export const newEndpoint = object({
  ...endpoint.properties,
  /** The secret, which only this response contains. */
  secret,
});

/** A public key of the service, which verifies `v1a` signatures. */
export const publicKey = object({
  publicKey: matching(new RegExp(`^${publicKeyPrefix}`)),
  /**
   * The time at which the key stops signing, one day after its rotation. Null for the current key.
   */
  until: orNull(time),
});

/** The number of confirmations that the service requires for an event on a chain. */
export const depth = object({
  chainId,
  name: text,
  /** The chain's default. */
  byDefault: count,
  /** The account's setting. Null if the account uses the default. */
  chosen: orNull(count),
});

/** The account's endpoints, and the settings that apply to every endpoint. */
export const endpointPage = object({
  endpoints: list(endpoint),
  /** The maximum number of endpoints per account. */
  max: count,
  /** All event types. */
  types: list(text),
  /**
   * The keys that verify `v1a` signatures, newest first. For one day after a rotation, the service
   * signs with both keys.
   */
  publicKeys: list(publicKey),
  /** The number of confirmations that events of each chain need. */
  chains: list(depth),
});

/** The response to a rotation. */
export const newSecret = object({
  /** The endpoint's new secret, which only this response contains. */
  secret,
});

/** The endpoint that was removed. */
export const removedEndpoint = object({ id: text });

/** The number of events that will be sent again. */
export const replayed = object({
  replayed: count,
  /** The `from` value of the next request, if the time range has more than 1,000 events. */
  next: orNull(time),
});

/** One attempt to deliver an event. */
export const attempt = object({
  at: time,
  /** The HTTP status, or null if there was no response. */
  status: orNull(integer(100, 999)),
  latencyMs: count,
  /** The first kilobyte of the response, or the reason why there was no response. */
  answer: text,
});

/** The delivery of one event to one endpoint. */
export const delivery = object({
  /** @pattern deliveryIdPattern */
  id: text,
  /** The ID of the event. */
  eventId: text,
  type: text,
  /** The chain of the event if it is not the intent's chain; otherwise null. */
  otherChainId: optional(orNull(chainId)),
  state: among("waiting", "held", "delivered", "failed"),
  createdAt: time,
  /** The time of the next attempt, if there is one. */
  dueAt: orNull(time),
  attempts: list(attempt),
});
export type Delivery = TypeOf<typeof delivery>;

/** The delivery of the test event. */
export const sentTest = object({ deliveryId: text });

/** The newest deliveries of an endpoint. */
export const deliveryPage = object({
  items: list(delivery),
});

/** Selects one event, or the events from `from` (inclusive) until `until` (exclusive). */
export type ReplayQuery =
  | { readonly eventId: string }
  | { readonly from: string | Date; readonly until: string | Date };

/**
 * The options of a request that changes something. The client sends each of these requests only
 * once, so there is no `retries` option.
 */
export type WriteOptions = Omit<CallOptions, "retries">;

/**
 * Every method needs an API key with the scope `webhooks`. The methods reject with the same errors
 * as the client's methods.
 */
export type Endpoints = {
  list(options?: CallOptions): Answered<Endpoint[]>;
  /**
   * Only this response contains the `secret`.
   *
   * @throws {ServiceError} if the URL is already used
   */
  create(
    endpoint: { readonly url: string; readonly types?: readonly EventType[] },
    options?: WriteOptions,
  ): Answered<TypeOf<typeof newEndpoint>>;
  /** Returns one endpoint of the account, or undefined if it has none with `id`. */
  get(id: string, options?: CallOptions): Answered<Endpoint | undefined>;
  pause(id: string, options?: WriteOptions): Answered<Endpoint>;
  /** Resumes a paused or disabled endpoint. The service sends waiting events immediately. */
  resume(id: string, options?: WriteOptions): Answered<Endpoint>;
  /** For 24 hours, deliveries are signed with both the old and the new secret. */
  rotate(id: string, options?: WriteOptions): Answered<TypeOf<typeof newSecret>>;
  test(id: string, options?: WriteOptions): Answered<TypeOf<typeof sentTest>>;
  /**
   * Sends the selected events again, starting with the oldest, up to 1,000. If there are more, pass
   * `next` as `from` in the next request.
   */
  replay(id: string, which: ReplayQuery, options?: WriteOptions): Answered<TypeOf<typeof replayed>>;
  /** Returns the newest 50 deliveries, each with its attempts. */
  deliveries(id: string, options?: CallOptions): Answered<Delivery[]> & AsyncIterable<Delivery>;
  remove(id: string, options?: WriteOptions): Answered<void>;
};

/** The functions that this file uses to send requests. account.ts provides them. */
export type Sending = {
  /** @param read requests the JSON with `ask`, checks the JSON, and returns the result */
  read<Answer>(
    path: string,
    options: CallOptions | undefined,
    read: (ask: () => Promise<unknown>) => Promise<Answer>,
  ): Answered<Answer>;
  /** @param read a function that checks the response's JSON and returns the result */
  write<Answer>(
    method: "POST" | "DELETE",
    path: string,
    options: WriteOptions | undefined,
    read: (answer: unknown) => Answer,
    input?: object,
  ): Answered<Answer>;
  orUndefined<Answer>(ask: () => Promise<Answer>): Promise<Answer | undefined>;
};

/**
 * The methods of {@link Endpoints}. `deliveries` has no async iterator here; account.ts adds it.
 */
type WithoutIterator = Omit<Endpoints, "deliveries"> & {
  deliveries(id: string, options?: CallOptions): Answered<Delivery[]>;
};

export function openEndpoints({ read, write, orUndefined }: Sending): WithoutIterator {
  const proveEndpoint = (answer: unknown) => shaped(endpoint, answer, "webhook endpoint");
  const proveAs =
    <S extends Shape>(shape: S, what: string) =>
    (answer: unknown) =>
      shaped(shape, answer, what);

  return {
    list: (options) =>
      read("/webhooks", options, async (ask) => {
        const { endpoints } = shaped(endpointPage, await ask(), "list of endpoints");
        return endpoints;
      }),
    create: (wanted, options) =>
      write("POST", "/webhooks", options, proveAs(newEndpoint, "new webhook endpoint"), wanted),
    get: (id, options) =>
      read(pathOf(id), options, (ask) =>
        orUndefined(async () => expectId(proveEndpoint(await ask()), id, "endpoint")),
      ),
    pause: (id, options) => write("POST", pathOf(id, "/pause"), options, proveEndpoint),
    resume: (id, options) => write("POST", pathOf(id, "/resume"), options, proveEndpoint),
    rotate: (id, options) =>
      write("POST", pathOf(id, "/rotate"), options, proveAs(newSecret, "new secret")),
    test: (id, options) => write("POST", pathOf(id, "/test"), options, proveAs(sentTest, "test")),
    replay: (id, which, options) =>
      write("POST", pathOf(id, "/replay"), options, proveAs(replayed, "replay"), which),
    deliveries: (id, options) =>
      read(pathOf(id, "/deliveries"), options, async (ask) => {
        const { items } = shaped(deliveryPage, await ask(), "list of deliveries");
        return items;
      }),
    remove: (id, options) => write("DELETE", pathOf(id), options, () => undefined),
  };
}

const pathOf = (id: string, verb = "") => `/webhooks/${encodeURIComponent(id)}${verb}`;
