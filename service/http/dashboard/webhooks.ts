// The account's endpoints, their deliveries and each attempt: /v1/webhooks by API key, and
// /dashboard/api/webhooks by session, are the same routes. The dashboard has one more, for depths.

import type { Delivery, Endpoint as Shown } from "executable-address/client";
import { eventTypes } from "executable-address/webhook";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Policy } from "../../accounts/limits.ts";
import { listConfirmations, setConfirmations } from "../../events/confirmations.ts";
import { toIso, toIsoOrNull } from "../../flow/days.ts";
import { replay, sendTest } from "../../webhooks/deliveries/enqueue.ts";
import { deliveriesShown, listDeliveries } from "../../webhooks/deliveries/list.ts";
import {
  addEndpoint,
  type Endpoint,
  endpointsMax,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
  setPaused,
} from "../../webhooks/endpoints.ts";
import { readSigningKeys, shownKey } from "../../webhooks/sign.ts";
import { Refusal } from "../errors.ts";
import { refuseIdempotencyKey } from "../headers.ts";
import { parseInput } from "../input/schema.ts";
import { spend } from "../load/limit.ts";
import type { Parts } from "../parts.ts";
import type { Replayed, Webhooks } from "./answers.ts";
import { accountIdOf, actorOf } from "./session.ts";

const addInput = z.strictObject({
  url: z.string().max(500),
  types: z.array(z.string().max(100)).max(20).default([]),
});
const replayInput = z.union([
  z.strictObject({ eventId: z.string().max(100) }),
  z.strictObject({
    from: z.iso.datetime({ offset: true }),
    until: z.iso.datetime({ offset: true }),
  }),
]);
const depthInput = z.strictObject({
  chainId: z.int().positive(),
  /** Null: the chain's own. A node keeps the state of some 128 blocks. */
  confirmations: z.int().min(0).max(100).nullable(),
});

/** An account's tests are requests to a URL of its choice. */
const perTest: Policy = { name: "webhook-test", intervalMs: 5_000, burst: 1 };

type WebhookParts = Pick<Parts, "store" | "accounts" | "now" | "webhookTargets" | "chains">;

export function mountWebhooks(app: FastifyInstance, parts: WebhookParts): void {
  const { db } = parts.store;

  for (const [url, routes] of Object.entries(webhookRoutes(parts)))
    for (const [method, handler] of Object.entries(routes)) app.route({ method, url, handler });

  app.post("/webhooks/confirmations", async (request) => {
    const { chainId, confirmations } = parseInput(depthInput, request.body);
    if (!parts.chains.find(chainId)) throw new Refusal("not_found", `no chain ${chainId} is known`);
    await setConfirmations(db, accountIdOf(request), chainId, confirmations);
    return { chainId, confirmations };
  });
}

type Handler = (request: FastifyRequest) => Promise<object>;
export type WebhookRoutes = Record<string, Partial<Record<"GET" | "POST" | "DELETE", Handler>>>;

/** By path, then by method. The hooks they are mounted behind give the request its account. */
export function webhookRoutes(parts: WebhookParts): WebhookRoutes {
  return {
    "/webhooks": { GET: listed(parts), POST: added(parts) },
    ...endpointRoutes(parts),
  };
}

function listed(parts: WebhookParts) {
  const { db } = parts.store;
  return async (request: FastifyRequest): Promise<Webhooks> => {
    const accountId = accountIdOf(request);
    const chosen = await listConfirmations(db, accountId);
    return {
      endpoints: (await listEndpoints(db, accountId)).map(shown),
      max: endpointsMax,
      types: eventTypes,
      publicKeys: (await readSigningKeys(db, parts.now())).map(shownKey),
      chains: parts.chains.known.map(({ chainId, name, confirmations }) => ({
        chainId,
        name,
        byDefault: confirmations,
        chosen: chosen.find((each) => each.chainId === chainId)?.confirmations ?? null,
      })),
    };
  };
}

function added(parts: WebhookParts) {
  const targets = parts.webhookTargets ?? "public";
  return async (request: FastifyRequest): Promise<Shown & { secret: string }> => {
    refuseIdempotencyKey(request, "a repeat is refused and names the endpoint that has the URL");
    const { url, types } = parseInput(addInput, request.body);
    const input = { url, types, targets };
    const { db } = parts.store;
    const made = await addEndpoint(db, accountIdOf(request), input, actorOf(request, parts));
    return { ...shown(made), secret: made.secret };
  };
}

/** The routes of one endpoint of the account: 404 for any other. */
function endpointRoutes(parts: WebhookParts): WebhookRoutes {
  const { db } = parts.store;
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;
  const endpointOf = async (request: FastifyRequest): Promise<Endpoint> =>
    required(await findEndpoint(db, accountIdOf(request), idOf(request)));

  const pause =
    (isPaused: boolean): Handler =>
    async (request) => {
      const [id, actor] = [idOf(request), actorOf(request, parts)];
      return shown(required(await setPaused(db, accountIdOf(request), id, isPaused, actor)));
    };

  const rotate: Handler = async (request) => {
    const [id, actor] = [idOf(request), actorOf(request, parts)];
    return required(await rotateSecret(db, accountIdOf(request), id, actor));
  };

  const test: Handler = async (request) => {
    const { id, state } = await endpointOf(request);
    if (state !== "active")
      throw new Refusal("conflict", `the endpoint is ${state}: resume it first`);
    await spend(parts.accounts.limiter, perTest, accountIdOf(request), "too many tests");
    return { deliveryId: await sendTest(db, id, parts.now()) };
  };

  const again = async (request: FastifyRequest): Promise<Replayed> => {
    const { id } = await endpointOf(request);
    const asked = parseInput(replayInput, request.body);
    const which =
      "eventId" in asked
        ? asked
        : { fromMs: Date.parse(asked.from), untilMs: Date.parse(asked.until) };
    const { replayed, nextMs } = await replay(db, accountIdOf(request), id, which, parts.now());
    return { replayed, next: toIsoOrNull(nextMs) };
  };

  const remove: Handler = async (request) => {
    const [id, actor] = [idOf(request), actorOf(request, parts)];
    required(await removeEndpoint(db, accountIdOf(request), id, actor));
    return { id };
  };

  const deliveries = async (request: FastifyRequest): Promise<{ items: Delivery[] }> => {
    const { id } = await endpointOf(request);
    const found = await listDeliveries(db, id, deliveriesShown);
    return {
      items: found.map(({ dueAtMs, createdAtMs, attempts, ...delivery }) => ({
        ...delivery,
        createdAt: toIso(createdAtMs),
        dueAt: toIsoOrNull(dueAtMs),
        attempts: attempts.map(({ atMs, ...attempt }) => ({ at: toIso(atMs), ...attempt })),
      })),
    };
  };

  return {
    "/webhooks/:id": { GET: async (request) => shown(await endpointOf(request)), DELETE: remove },
    "/webhooks/:id/rotate": { POST: rotate },
    "/webhooks/:id/pause": { POST: pause(true) },
    "/webhooks/:id/resume": { POST: pause(false) },
    "/webhooks/:id/test": { POST: test },
    "/webhooks/:id/replay": { POST: again },
    "/webhooks/:id/deliveries": { GET: deliveries },
  };
}

/** @throws {Refusal} 404 for an endpoint that the account does not have */
function required<Found>(found: Found | undefined | false): Found {
  if (found) return found;
  throw new Refusal("not_found", "the account has no such endpoint");
}

const shown = ({ failingSinceMs, oldSecretUntilMs, createdAtMs, ...kept }: Endpoint): Shown => ({
  ...{ id: kept.id, url: kept.url, types: kept.types, state: kept.state, reason: kept.reason },
  failingSince: toIsoOrNull(failingSinceMs),
  oldSecretUntil: toIsoOrNull(oldSecretUntilMs),
  createdAt: toIso(createdAtMs),
});
