// The account's webhook endpoints, by API key. A request that makes something is sent once, and
// never again by itself: of two rotations in a row the first secret would be lost.

import {
  among,
  chainId,
  count,
  integer,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  text,
  time,
} from "../shape.ts";
import { ofId, shaped } from "./answers.ts";
import { type EventType, eventType } from "./lists.ts";
import { orNothing } from "./mirrors.ts";
import type { Settings } from "./options.ts";
import { send } from "./request.ts";

/** A webhook endpoint of the account. Times are ISO 8601. */
export const endpoint = object({
  /** @pattern ^whe_[0-9a-f]{24}$ */
  id: text,
  url: text,
  /** The event types that are sent; empty means all. */
  types: list(eventType),
  state: among("active", "paused", "disabled"),
  /** Why it is disabled. */
  reason: orNull(text),
  /** Since when every attempt has failed. */
  failingSince: orNull(time),
  /** After a rotation both secrets sign until then. */
  oldSecretUntil: orNull(time),
  createdAt: time,
});
export type Endpoint = TypeOf<typeof endpoint>;

const secret = matching(/^whsec_[A-Za-z0-9+/]{43}=$/);

/** A webhook endpoint as it is created, with its secret. */
export const newEndpoint = object({
  ...endpoint.properties,
  /** Shown here and never again. */
  secret,
});

/** A public key of the service, which verifies `v1a` signatures. */
export const publicKey = object({
  publicKey: matching(/^whpk_/),
  /** When it stops signing: a day after a rotation. */
  until: orNull(time),
});

/** How many blocks must follow before an event of a chain is reported. */
export const depth = object({
  chainId,
  name: text,
  /** The chain's default. */
  byDefault: count,
  /** The account's choice; null for the default. */
  chosen: orNull(count),
});

/** The account's endpoints, and what applies to all of them. */
export const endpointPage = object({
  endpoints: list(endpoint),
  /** The highest number of endpoints of an account. */
  max: count,
  /** Every type of event. */
  types: list(text),
  /** Verify `v1a`, the newest first. After a rotation two sign for a day. */
  publicKeys: list(publicKey),
  /** How deep events of each chain are reported. */
  chains: list(depth),
});

/** The endpoint's new secret. */
export const newSecret = object({
  /** Shown here and never again. */
  secret,
});

/** The endpoint that was removed. */
export const removedEndpoint = object({ id: text });

/** The number of events that are sent again. */
export const replayed = object({
  replayed: count,
  /** The `from` with which to continue, if there are more than 1,000 events. */
  next: orNull(time),
});

/** One attempt to deliver an event. */
export const attempt = object({
  at: time,
  /** The HTTP status; null if no response arrived. */
  status: orNull(integer(100, 999)),
  latencyMs: count,
  /** The first kilobyte of the response, or why there was none. */
  answer: text,
});

/** One event on its way to one endpoint. */
export const delivery = object({
  /** @pattern ^whd_[0-9a-f]{24}$ */
  id: text,
  /** The event that it delivers. */
  eventId: text,
  type: text,
  state: among("waiting", "held", "delivered", "failed"),
  createdAt: time,
  /** When the next attempt is due. */
  dueAt: orNull(time),
  attempts: list(attempt),
});
export type Delivery = TypeOf<typeof delivery>;

/** The delivery of the test. */
export const sentTest = object({ deliveryId: text });

/** The newest deliveries of an endpoint. */
export const deliveryPage = object({
  items: list(delivery),
});

/** One event, or those that were said in a span: `from` inclusive, `until` exclusive. */
export type ReplayQuery =
  | { readonly eventId: string }
  | { readonly from: string; readonly until: string };

type CallOptions = { readonly signal?: AbortSignal };

/** Each takes an API key with the scope `webhooks`, and rejects as the client's methods do. */
export type Endpoints = {
  list(options?: CallOptions): Promise<Endpoint[]>;
  /** The `secret` is in this answer and never again. @throws {ServiceError} where a URL is taken */
  create(
    endpoint: { readonly url: string; readonly types?: readonly EventType[] },
    options?: CallOptions,
  ): Promise<TypeOf<typeof newEndpoint>>;
  /** One endpoint of the account's; undefined where it has none under `id`. */
  get(id: string, options?: CallOptions): Promise<Endpoint | undefined>;
  pause(id: string, options?: CallOptions): Promise<Endpoint>;
  /** Also after it was disabled; what waits is sent at once. */
  resume(id: string, options?: CallOptions): Promise<Endpoint>;
  /** The old secret signs beside the new one for 24 hours. */
  rotate(id: string, options?: CallOptions): Promise<TypeOf<typeof newSecret>>;
  test(id: string, options?: CallOptions): Promise<TypeOf<typeof sentTest>>;
  /** At most the oldest 1,000; `next` is from when to go on, where there are more. */
  replay(id: string, which: ReplayQuery, options?: CallOptions): Promise<TypeOf<typeof replayed>>;
  /** The newest 50, each with its attempts. */
  deliveries(id: string, options?: CallOptions): Promise<Delivery[]>;
  remove(id: string, options?: CallOptions): Promise<void>;
};

export function endpointsOf({ credential, transport }: Settings): Endpoints {
  const read = (path: string, { signal }: CallOptions = {}) =>
    send(transport, { method: "GET", path: `/webhooks${path}`, headers: credential, signal });
  const change = (
    method: "POST" | "DELETE",
    path: string,
    { signal }: CallOptions = {},
    input?: unknown,
  ) => {
    const body = input === undefined ? {} : { body: JSON.stringify(input) };
    const type = input === undefined ? {} : { "Content-Type": "application/json" };
    const headers = { ...type, ...credential };
    const request = { method, path: `/webhooks${path}`, headers, signal, ...body };
    return send({ ...transport, retriesMax: 0 }, request);
  };
  const post = (id: string, verb: string, options?: CallOptions, input?: unknown) =>
    change("POST", `${pathOf(id)}/${verb}`, options, input);
  const proveEndpoint = (answer: unknown) => shaped(endpoint, answer, "webhook endpoint");

  return {
    list: async (options) =>
      shaped(endpointPage, await read("", options), "list of endpoints").endpoints,
    create: async (wanted, options) =>
      shaped(newEndpoint, await change("POST", "", options, wanted), "new webhook endpoint"),
    get: (id, options) =>
      orNothing(async () => {
        return ofId(proveEndpoint(await read(pathOf(id), options)), id, "endpoint");
      }),
    pause: async (id, options) => proveEndpoint(await post(id, "pause", options)),
    resume: async (id, options) => proveEndpoint(await post(id, "resume", options)),
    rotate: async (id, options) =>
      shaped(newSecret, await post(id, "rotate", options), "new secret"),
    test: async (id, options) => shaped(sentTest, await post(id, "test", options), "test"),
    replay: async (id, which, options) =>
      shaped(replayed, await post(id, "replay", options, which), "replay"),
    deliveries: async (id, options) =>
      shaped(deliveryPage, await read(`${pathOf(id)}/deliveries`, options), "list of deliveries")
        .items,
    async remove(id, options) {
      await change("DELETE", pathOf(id), options);
    },
  };
}

const pathOf = (id: string) => `/${encodeURIComponent(id)}`;
