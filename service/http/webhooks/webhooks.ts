// Manages an account's webhook endpoints, and lists deliveries and attempts. The operations are at
// /v1/webhooks (API key) and at /dashboard/api/webhooks (session). The dashboard also has an
// operation that sets the account's number of confirmations on a chain.

import type { Endpoint as Shown } from "executable-address/client";
import type {
  deliveryPage,
  endpointPage,
  newEndpoint,
  replayed as replayedShape,
  TypeOf,
} from "executable-address/shapes";
import { eventTypes } from "executable-address/webhook";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { policies } from "../../accounts/policies.ts";
import {
  confirmationsMax,
  listConfirmations,
  setConfirmations,
} from "../../events/confirmations.ts";
import { toIso, toIsoOrNull } from "../../flow/days.ts";
import { addTestDelivery, replay, replayInput } from "../../webhooks/deliveries/enqueue.ts";
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
import { urlCharactersMax } from "../../webhooks/guard.ts";
import { ensureSigningKeys, shownKey } from "../../webhooks/sign.ts";
import { readActor, requireAccountId } from "../authorize/authorize.ts";
import { foundText, Refusal } from "../errors.ts";
import { parseInput, refuseIdempotencyKey } from "../input.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";

/** The body of a new webhook endpoint, for the API, its OpenAPI document, and the dashboard. */
export const endpointInput = z.strictObject({
  url: z
    .string()
    .max(urlCharactersMax)
    .describe("An `https` URL whose host name resolves to public addresses only."),
  types: z
    .array(z.string().max(100).meta({ enum: eventTypes }))
    .max(20)
    .default([])
    .describe("The types of events to send. If empty or absent, all types are sent."),
});

const depthInput = z.strictObject({
  chainId: z.int().positive(),
  /** Null means the chain's default number of confirmations. */
  confirmations: z.int().min(0).max(confirmationsMax).nullable(),
});

type WebhookParts = Pick<Parts, "store" | "accounts" | "now" | "webhookTargets" | "chains">;

type Handler = (request: FastifyRequest) => Promise<object>;
/** The handlers of the /webhooks operations, by their ID in ../openapi/operations.ts. */
export type WebhookHandlers = ReturnType<typeof openWebhooks>;

/**
 * Returns the handlers of the /webhooks operations. The routes must have a hook that sets the
 * request's account.
 */
export function openWebhooks(parts: WebhookParts) {
  return {
    listEndpoints: listed(parts),
    createEndpoint: added(parts),
    ...endpointHandlers(parts),
  };
}

/** Handles POST /webhooks/confirmations, which only the dashboard has. */
export function chooseDepth({ store: { db }, chains }: WebhookParts): Handler {
  return async (request) => {
    const { chainId, confirmations } = parseInput(depthInput, request.body);
    if (!chains.find(chainId)) {
      const ids = chains.known.map((chain) => chain.chainId).join(", ");
      const message = `chain ${chainId} is not configured; expected one of: ${ids}`;
      throw new Refusal("not_found", message);
    }
    await setConfirmations(db, requireAccountId(request), chainId, confirmations);
    return { chainId, confirmations };
  };
}

function listed(parts: WebhookParts) {
  const { db } = parts.store;
  return async (request: FastifyRequest): Promise<TypeOf<typeof endpointPage>> => {
    const accountId = requireAccountId(request);
    const chosen = await listConfirmations(db, accountId);
    return {
      endpoints: (await listEndpoints(db, accountId)).map(shown),
      max: endpointsMax,
      types: [...eventTypes],
      publicKeys: (await ensureSigningKeys(db, parts.now())).map(shownKey),
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
  return async (request: FastifyRequest): Promise<TypeOf<typeof newEndpoint>> => {
    refuseIdempotencyKey(
      request,
      "if you repeat the request, the error contains the ID of the existing endpoint",
    );
    const { url, types } = parseInput(endpointInput, request.body);
    const input = { url, types, targets };
    const { db } = parts.store;
    const made = await addEndpoint(db, requireAccountId(request), input, readActor(request, parts));
    return { ...shown(made), secret: made.secret };
  };
}

/**
 * Returns the handlers for single endpoints. Each handler returns 404 if the account has no such
 * endpoint.
 */
function endpointHandlers(parts: WebhookParts) {
  const { db } = parts.store;

  const pause =
    (isPaused: boolean): Handler =>
    async (request) => {
      const [id, actor] = [idOf(request), readActor(request, parts)];
      const endpoint = await setPaused(db, requireAccountId(request), id, isPaused, actor);
      return shown(required(request, endpoint));
    };

  const rotate: Handler = async (request) => {
    const [id, actor] = [idOf(request), readActor(request, parts)];
    return required(request, await rotateSecret(db, requireAccountId(request), id, actor));
  };

  const remove: Handler = async (request) => {
    const [id, actor] = [idOf(request), readActor(request, parts)];
    required(request, await removeEndpoint(db, requireAccountId(request), id, actor));
    return { id };
  };

  return {
    findEndpoint: async (request: FastifyRequest) => shown(await requireEndpoint(request, parts)),
    removeEndpoint: remove,
    rotateSecret: rotate,
    pauseEndpoint: pause(true),
    resumeEndpoint: pause(false),
    testEndpoint: testing(parts),
    replayEvents: replaying(parts),
    listDeliveries: deliveries(parts),
  } satisfies Record<string, Handler>;
}

const testing =
  (parts: WebhookParts): Handler =>
  async (request) => {
    const { id, state } = await requireEndpoint(request, parts);
    if (state !== "active")
      throw new Refusal("conflict", `the endpoint is ${state}: resume it before you send a test`);
    await takeOrRefuse(
      parts.accounts.limiter,
      policies.webhookTests,
      requireAccountId(request),
      "too many tests",
    );
    return { deliveryId: await addTestDelivery(parts.store.db, id, parts.now()) };
  };

const replaying =
  (parts: WebhookParts) =>
  async (request: FastifyRequest): Promise<TypeOf<typeof replayedShape>> => {
    const { id, accountId } = await requireEndpoint(request, parts);
    const which = parseInput(replayInput, request.body);
    const { db } = parts.store;
    const { replayed, nextMs } = await replay(db, accountId, id, which, parts.now());
    return { replayed, next: toIsoOrNull(nextMs) };
  };

const deliveries =
  (parts: WebhookParts) =>
  async (request: FastifyRequest): Promise<TypeOf<typeof deliveryPage>> => {
    const { id } = await requireEndpoint(request, parts);
    const found = await listDeliveries(parts.store.db, id, deliveriesShown);
    return {
      items: found.map(({ dueAtMs, createdAtMs, attempts, ...delivery }) => ({
        ...delivery,
        createdAt: toIso(createdAtMs),
        dueAt: toIsoOrNull(dueAtMs),
        attempts: attempts.map(({ atMs, ...attempt }) => ({ at: toIso(atMs), ...attempt })),
      })),
    };
  };

const idOf = (request: FastifyRequest) => (request.params as { id: string }).id;

/** @throws {Refusal} the same refusal as {@link required} */
async function requireEndpoint(request: FastifyRequest, { store }: WebhookParts) {
  const accountId = requireAccountId(request);
  const endpoint = required(request, await findEndpoint(store.db, accountId, idOf(request)));
  return { ...endpoint, accountId };
}

/**
 * Returns `found` if it is neither undefined nor false.
 *
 * @throws {Refusal} 404 (the account has no such endpoint) if `found` is undefined or false
 */
function required<Found>(request: FastifyRequest, found: Found | undefined | false): Found {
  if (found) return found;
  throw new Refusal("not_found", `the account has no webhook endpoint ${foundText(idOf(request))}`);
}

const shown = ({ failingSinceMs, oldSecretUntilMs, createdAtMs, ...kept }: Endpoint): Shown => ({
  ...{ id: kept.id, url: kept.url, types: kept.types, state: kept.state, reason: kept.reason },
  failingSince: toIsoOrNull(failingSinceMs),
  oldSecretUntil: toIsoOrNull(oldSecretUntilMs),
  createdAt: toIso(createdAtMs),
});
