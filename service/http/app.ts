// The HTTP service: which route answers which path, and what is true of every answer.
//
// Every /v1 answer, whatever its status, carries CORS `*` and X-Request-Id; every refusal, the
// framework's own included, has the shape of spec/service.md §7.

import { METHODS } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { chains } from "./chains.ts";
import { check, openCheck } from "./create/check.ts";
import { create, openCreate } from "./create/create.ts";
import { mountDashboard } from "./dashboard/dashboard.ts";
import type { Intents } from "./dashboard/intents.ts";
import { type WebhookRoutes, webhookRoutes } from "./dashboard/webhooks.ts";
import { apiHeaders, closeWhenDraining, commonHeaders, requestIds } from "./headers.ts";
import { parseJsonBody } from "./input/body.ts";
import { addresses, mine } from "./lists/addresses.ts";
import { apiKeyOnly } from "./lists/caller.ts";
import { accountEvent, accountEvents } from "./lists/events.ts";
import { type Admission, admitCreates } from "./load/admission.ts";
import { openServer } from "./load/server.ts";
import { lookup } from "./lookup/lookup.ts";
import { openapi } from "./openapi/openapi.ts";
import type { Parts } from "./parts.ts";
import { mountProbes } from "./probes.ts";
import { proof } from "./proof/proof.ts";
import { answerClientError, answerError, refuseUnknownPath } from "./refuse.ts";
import { mount, type Route } from "./routes.ts";
import { securityTxt, securityTxtPath } from "./security-txt.ts";
import { simulation } from "./simulation/simulation.ts";
import { events } from "./status/events.ts";
import { openStatuses, type Statuses } from "./status/source.ts";
import { status } from "./status/status.ts";

/** No intent the library accepts needs more, with every character of it escaped in JSON twice. */
export const bodyBytesMax = 192 * 1024;

/** Called for a route with a schema of the framework's. */
const noSchema = () => {
  throw new Error("routes have no schemas of the framework's");
};

export function buildApp(parts: Parts): FastifyInstance {
  const newRequestId = requestIds();
  const creates = admitCreates(parts);
  const app = Fastify({
    logger: false,
    serverFactory: (listener) => openServer(listener, { ...parts, creates, newRequestId }),
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: parts.trustedProxies ?? false,
    bodyLimit: bodyBytesMax,
    // A request that is on its way when a drain begins is served.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // Bodies are checked by our own schemas, so the framework's compilers need not be loaded.
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // The router would answer 404 beyond it; a path that is not an address is 400 at any length.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answerError(parts),
    clientErrorHandler: answerClientError,
  });
  // Known to the router, every method is told 405 and what the path takes.
  const more = METHODS.filter((method) => !app.supportedMethods.includes(method));
  for (const method of more) app.addHttpMethod(method);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parseJsonBody);
  app.addHook("onRequest", commonHeaders);
  app.addHook("onRequest", refuseUnknownPath);
  app.addHook("onSend", closeWhenDraining(parts.draining));
  app.setErrorHandler(answerError(parts));
  mountProbes(app, parts);
  const { metrics, securityContact: contact } = parts;
  if (contact) mount(app, metrics, securityTxtPath, { GET: securityTxt(parts, contact) });
  const statuses = openStatuses(parts);
  const intents = { check: openCheck(parts), create: openCreate(parts) };
  const work = { statuses, intents, creates };
  app.register(async (scope) => mountApi(scope, parts, work), { prefix: "/v1" });
  mountDashboard(app, parts, statuses, intents);
  return app;
}

type Work = { statuses: Statuses; intents: Intents; creates: Admission };

/** spec/service.md §4. A GET ignores credentials altogether. */
function mountApi(api: FastifyInstance, parts: Parts, work: Work): void {
  const { statuses, intents, creates } = work;
  api.addHook("onRequest", apiHeaders);
  const at = (path: string, routes: Record<string, Route>) =>
    mount(api, parts.metrics, path, routes);
  const find = lookup(parts);
  // A GET looks up what is not an address.
  at("/address/create", { POST: create(creates, intents.create, parts), GET: find });
  at("/address/check", { POST: check(parts, intents.check), GET: find });
  at("/address/:address", { GET: find });
  at("/address/:address/status", { GET: status(parts, statuses) });
  at("/address/:address/events", { GET: events(parts, statuses) });
  at("/address/:address/proof", { GET: proof(parts, statuses) });
  at("/address/:address/simulation", { GET: simulation(parts, statuses) });
  at("/address/:address/mine", { GET: mine(parts) });
  at("/addresses", { GET: addresses(parts) });
  at("/events", { GET: accountEvents(parts) });
  at("/events/:id", { GET: accountEvent(parts) });
  for (const [path, routes] of Object.entries(webhookRoutes(parts))) at(path, byKey(routes, parts));
  at("/chains", { GET: chains(parts) });
  at("/openapi.json", { GET: openapi() });
}

/** An API key with the scope opens what the dashboard's session opens. */
function byKey(routes: WebhookRoutes[string], parts: Parts): Record<string, Route> {
  const before = [apiKeyOnly(parts, "webhooks")];
  const made = Object.entries(routes).map(([method, handler]) => [method, { before, handler }]);
  return Object.fromEntries(made);
}
