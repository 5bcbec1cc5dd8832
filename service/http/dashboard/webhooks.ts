// /dashboard/api/webhooks: the account's endpoints, their deliveries and each attempt.

import { eventTypes } from "executable-address/webhook";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Policy } from "../../accounts/limits.ts";
import { listConfirmations, setConfirmations } from "../../events/list.ts";
import { replay, sendTest } from "../../webhooks/deliveries/enqueue.ts";
import { listDeliveries } from "../../webhooks/deliveries/list.ts";
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
import { readSigningKey } from "../../webhooks/sign.ts";
import { Refusal } from "../errors.ts";
import { parseInput, toIso, toIsoOrNull } from "../input/schema.ts";
import { spend } from "../load/limit.ts";
import type { Parts } from "../parts.ts";
import { accountIdOf, actorOf } from "./session.ts";

const deliveriesShown = 50;
const addInput = z.strictObject({
  url: z.string().max(500),
  types: z.array(z.string().max(100)).max(20).default([]),
});
const pauseInput = z.strictObject({ paused: z.boolean() });
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
  const targets = parts.webhookTargets ?? "public";

  app.get("/webhooks", async (request) => {
    const accountId = accountIdOf(request);
    const chosen = await listConfirmations(db, accountId);
    return {
      endpoints: (await listEndpoints(db, accountId)).map(shown),
      max: endpointsMax,
      types: eventTypes,
      publicKey: (await readSigningKey(db)).publicKey,
      chains: parts.chains.known.map(({ chainId, name, confirmations }) => ({
        chainId,
        name,
        byDefault: confirmations,
        chosen: chosen.find((each) => each.chainId === chainId)?.confirmations ?? null,
      })),
    };
  });

  app.post("/webhooks", async (request) => {
    const { url, types } = parseInput(addInput, request.body);
    const input = { url, types, targets };
    const added = await addEndpoint(db, accountIdOf(request), input, actorOf(request, parts));
    return { ...shown(added), secret: added.secret };
  });

  app.post("/webhooks/confirmations", async (request) => {
    const { chainId, confirmations } = parseInput(depthInput, request.body);
    if (!parts.chains.find(chainId)) throw new Refusal("not_found", `no chain ${chainId} is known`);
    await setConfirmations(db, accountIdOf(request), chainId, confirmations);
    return { chainId, confirmations };
  });

  mountEndpoint(app, parts);
}

/** The routes of one endpoint of the account: 404 for any other. */
function mountEndpoint(app: FastifyInstance, parts: WebhookParts): void {
  const { db } = parts.store;
  const endpointOf = async (request: FastifyRequest): Promise<Endpoint> => {
    const { id } = request.params as { id: string };
    const found = await findEndpoint(db, accountIdOf(request), id);
    if (!found) throw new Refusal("not_found", "the account has no such endpoint");
    return found;
  };

  app.post("/webhooks/:id/rotate", async (request) => {
    const { id } = await endpointOf(request);
    return rotateSecret(db, accountIdOf(request), id, actorOf(request, parts));
  });

  app.post("/webhooks/:id/pause", async (request) => {
    const { id } = await endpointOf(request);
    const { paused } = parseInput(pauseInput, request.body);
    await setPaused(db, accountIdOf(request), id, paused, actorOf(request, parts));
    return shown((await findEndpoint(db, accountIdOf(request), id))!);
  });

  app.post("/webhooks/:id/test", async (request) => {
    const { id, state } = await endpointOf(request);
    if (state !== "active")
      throw new Refusal("conflict", `the endpoint is ${state}: resume it first`);
    await spend(parts.accounts.limiter, perTest, accountIdOf(request), "too many tests");
    return { deliveryId: await sendTest(db, id, parts.now()) };
  });

  app.post("/webhooks/:id/replay", async (request) => {
    const { id } = await endpointOf(request);
    const asked = parseInput(replayInput, request.body);
    const which =
      "eventId" in asked
        ? asked
        : { fromMs: Date.parse(asked.from), untilMs: Date.parse(asked.until) };
    const { replayed, nextMs } = await replay(db, accountIdOf(request), id, which, parts.now());
    return { replayed, next: toIsoOrNull(nextMs) };
  });

  app.delete("/webhooks/:id", async (request) => {
    const { id } = await endpointOf(request);
    await removeEndpoint(db, accountIdOf(request), id, actorOf(request, parts));
    return { id };
  });

  app.get("/webhooks/:id/deliveries", async (request) => {
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
  });
}

const shown = ({ failingSinceMs, oldSecretUntilMs, createdAtMs, ...endpoint }: Endpoint) => ({
  ...{ id: endpoint.id, url: endpoint.url, types: endpoint.types },
  ...{ state: endpoint.state, reason: endpoint.reason },
  failingSince: toIsoOrNull(failingSinceMs),
  oldSecretUntil: toIsoOrNull(oldSecretUntilMs),
  createdAt: toIso(createdAtMs),
});
