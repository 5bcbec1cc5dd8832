// Asks service/http/dashboard/webhooks.ts, whose answers are typed as those of /v1/webhooks.

import type { Delivery, Endpoint } from "executable-address/client";
import type { Replayed, Webhooks } from "../api.ts";
import { request } from "../request.ts";

export type { Delivery, Endpoint };

/** ISO 8601, from inclusive, until exclusive. */
type Span = { from: string; until: string };

const base = "/dashboard/api/webhooks";

export const webhooks = {
  list: () => request<Webhooks>("GET", base),
  add: (input: { url: string; types: string[] }) =>
    request<Endpoint & { secret: string }>("POST", base, input),
  rotate: (id: string) => request<{ secret: string }>("POST", `${base}/${id}/rotate`, {}),
  pause: ({ id, paused }: { id: string; paused: boolean }) =>
    request<Endpoint>("POST", `${base}/${id}/${paused ? "pause" : "resume"}`, {}),
  test: (id: string) => request<{ deliveryId: string }>("POST", `${base}/${id}/test`, {}),
  remove: (id: string) => request<{ id: string }>("DELETE", `${base}/${id}`, {}),
  replay: ({ id, ...which }: { id: string } & ({ eventId: string } | Span)) =>
    request<Replayed>("POST", `${base}/${id}/replay`, which),
  setDepth: (input: { chainId: number; confirmations: number | null }) =>
    request<object>("POST", `${base}/confirmations`, input),
  deliveries: (id: string) => request<{ items: Delivery[] }>("GET", `${base}/${id}/deliveries`),
};
