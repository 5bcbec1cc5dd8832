// The account's webhook endpoints, by API key. A request that makes something is sent once, and
// never again by itself: of two rotations in a row the first secret would be lost.

import { ofId } from "./answers.ts";
import { type EventType, time } from "./lists.ts";
import { orNothing } from "./mirrors.ts";
import type { Settings } from "./options.ts";
import { send } from "./request.ts";
import { among, count, integer, list, matching, object, orNull, shaped, text } from "./shape.ts";

/** `types` empty: every event. Times are ISO 8601. */
export type Endpoint = {
  id: string;
  url: string;
  types: EventType[];
  state: "active" | "paused" | "disabled";
  /** Why it is disabled. */
  reason: string | null;
  failingSince: string | null;
  /** After a rotation both secrets sign until then. */
  oldSecretUntil: string | null;
  createdAt: string;
};

export type Delivery = {
  id: string;
  eventId: string;
  type: string;
  state: "waiting" | "held" | "delivered" | "failed";
  createdAt: string;
  dueAt: string | null;
  /** `status` null: no answer came; `answer`: its first kilobyte, or why there was none. */
  attempts: { at: string; status: number | null; latencyMs: number; answer: string }[];
};

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
  ): Promise<Endpoint & { secret: string }>;
  /** One endpoint of the account's; undefined where it has none under `id`. */
  get(id: string, options?: CallOptions): Promise<Endpoint | undefined>;
  pause(id: string, options?: CallOptions): Promise<Endpoint>;
  /** Also after it was disabled; what waits is sent at once. */
  resume(id: string, options?: CallOptions): Promise<Endpoint>;
  /** The old secret signs beside the new one for 24 hours. */
  rotate(id: string, options?: CallOptions): Promise<{ secret: string }>;
  test(id: string, options?: CallOptions): Promise<{ deliveryId: string }>;
  /** At most the oldest 1,000; `next` is from when to go on, where there are more. */
  replay(
    id: string,
    which: ReplayQuery,
    options?: CallOptions,
  ): Promise<{ replayed: number; next: string | null }>;
  /** The newest 50, each with its attempts. */
  deliveries(id: string, options?: CallOptions): Promise<Delivery[]>;
  remove(id: string, options?: CallOptions): Promise<void>;
};

const secret = matching(/^whsec_[A-Za-z0-9+/]+=*$/);

const endpoint = {
  id: text,
  url: text,
  types: list(text),
  state: among("active", "paused", "disabled"),
  reason: orNull(text),
  failingSince: orNull(time),
  oldSecretUntil: orNull(time),
  createdAt: time,
} satisfies Record<keyof Endpoint, unknown>;

const attempt = object({
  at: time,
  status: orNull(integer(100, 999)),
  latencyMs: count,
  answer: text,
});

const delivery = object({
  id: text,
  eventId: text,
  type: text,
  state: among("waiting", "held", "delivered", "failed"),
  createdAt: time,
  dueAt: orNull(time),
  attempts: list(attempt),
} satisfies Record<keyof Delivery, unknown>);

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
  const proveEndpoint = (answer: unknown) =>
    shaped<Endpoint>(answer, object(endpoint), "webhook endpoint");

  return {
    async list(options) {
      const answer = await read("", options);
      const shape = object({ endpoints: list(object(endpoint)) });
      return shaped<{ endpoints: Endpoint[] }>(answer, shape, "list of endpoints").endpoints;
    },
    create: async (wanted, options) =>
      shaped(
        await change("POST", "", options, wanted),
        object({ ...endpoint, secret }),
        "new webhook endpoint",
      ),
    get: (id, options) =>
      orNothing(async () => {
        return ofId(proveEndpoint(await read(pathOf(id), options)), id, "endpoint");
      }),
    pause: async (id, options) => proveEndpoint(await post(id, "pause", options)),
    resume: async (id, options) => proveEndpoint(await post(id, "resume", options)),
    rotate: async (id, options) =>
      shaped(await post(id, "rotate", options), object({ secret }), "new secret"),
    test: async (id, options) =>
      shaped(await post(id, "test", options), object({ deliveryId: text }), "test"),
    replay: async (id, which, options) =>
      shaped(
        await post(id, "replay", options, which),
        object({ replayed: count, next: orNull(time) }),
        "replay",
      ),
    async deliveries(id, options) {
      const answer = await read(`${pathOf(id)}/deliveries`, options);
      const shape = object({ items: list(delivery) });
      return shaped<{ items: Delivery[] }>(answer, shape, "list of deliveries").items;
    },
    async remove(id, options) {
      await change("DELETE", pathOf(id), options);
    },
  };
}

const pathOf = (id: string) => `/${encodeURIComponent(id)}`;
