// Sends requests to the routes in service/http/webhooks/webhooks.ts. The responses have the types
// of /v1/webhooks.

import type { Delivery, Endpoint } from "executable-address/client";
import type {
  deliveryPage,
  newEndpoint,
  newSecret,
  removedEndpoint,
  replayed,
  sentTest,
  TypeOf,
} from "executable-address/shapes";
import type { Webhooks } from "../api.ts";
import { request } from "../request.ts";

export type { Delivery, Endpoint };

/** ISO 8601. `from` is inclusive, and `until` is exclusive. */
type Span = { from: string; until: string };

const base = "/dashboard/api/webhooks";

export const webhooks = {
  list: () => request<Webhooks>("GET", base),
  add: (input: { url: string; types: string[] }) =>
    request<TypeOf<typeof newEndpoint>>("POST", base, input),
  rotate: (id: string) => request<TypeOf<typeof newSecret>>("POST", `${base}/${id}/rotate`, {}),
  pause: ({ id, paused }: { id: string; paused: boolean }) =>
    request<Endpoint>("POST", `${base}/${id}/${paused ? "pause" : "resume"}`, {}),
  test: (id: string) => request<TypeOf<typeof sentTest>>("POST", `${base}/${id}/test`, {}),
  remove: (id: string) => request<TypeOf<typeof removedEndpoint>>("DELETE", `${base}/${id}`, {}),
  replay: ({ id, ...which }: { id: string } & ({ eventId: string } | Span)) =>
    request<TypeOf<typeof replayed>>("POST", `${base}/${id}/replay`, which),
  setDepth: (input: { chainId: number; confirmations: number | null }) =>
    request<object>("POST", `${base}/confirmations`, input),
  deliveries: (id: string) =>
    request<TypeOf<typeof deliveryPage>>("GET", `${base}/${id}/deliveries`),
};
