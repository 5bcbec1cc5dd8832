// The HTTP service: the table of routes, and the rules that apply to every response.
//
// Every /v1 response, regardless of its status, has CORS `*` and X-Request-Id. Every refusal,
// including the framework's own, has the form of spec/service.md §7.

import { METHODS } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { chains, mountProbes, openapi, securityTxt, securityTxtPath } from "./about.ts";
import { apiKeyOnly } from "./authorize/authorize.ts";
import { check, openCheck } from "./create/check.ts";
import { create, openCreate } from "./create/create.ts";
import type { Intents } from "./dashboard/addresses.ts";
import { mountDashboard } from "./dashboard/dashboard.ts";
import { openWebhooks, type WebhookHandlers } from "./dashboard/webhooks.ts";
import { parseJsonBody, refuseFields } from "./input.ts";
import { addresses, mine } from "./lists/addresses.ts";
import { accountEvent, accountEvents } from "./lists/events.ts";
import { type Admission, admitCreates } from "./load/admission.ts";
import { openServer } from "./load/server.ts";
import { lookup } from "./lookup/lookup.ts";
import { type Operation, type OperationId, operations, toUrl } from "./openapi/operations.ts";
import { constantOf } from "./openapi/responses.ts";
import { mountPages } from "./pages/pages.ts";
import type { Parts } from "./parts.ts";
import { proof } from "./proof/proof.ts";
import { answerClientError, answerError } from "./refuse.ts";
import {
  allowedMethods,
  apiHeaders,
  closeWhenDraining,
  commonHeaders,
  mount,
  type Route,
  refuseUnknownPath,
  requestIds,
  setHeader,
} from "./routes.ts";
import { simulation } from "./simulation/simulation.ts";
import { events } from "./status/events.ts";
import { sent } from "./status/sent.ts";
import { openStatuses, returns, type Statuses, status } from "./status/status.ts";

/** No valid intent needs more, even with every character escaped twice in JSON. */
export const bodyBytesMax = 192 * 1024;

const apiPrefix = "/v1";

/** The methods of all paths. The dashboard has no other ones than the API. */
const allow = allowedMethods([
  ...new Set(Object.values(operations).map(({ method }) => method)),
]).join(", ");

/** Called for a route with a schema of the framework. */
const noSchema = () => {
  throw new Error("routes have no schemas of the framework's");
};

export function buildApp(parts: Parts): FastifyInstance {
  const newRequestId = requestIds();
  const creates = admitCreates(parts);
  const createPath = `${apiPrefix}${operations.createAddress.path}`;
  const app = Fastify({
    logger: false,
    serverFactory: (listener) =>
      openServer(listener, { ...parts, creates, createPath, allow, newRequestId }),
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: parts.trustedProxies ?? false,
    bodyLimit: bodyBytesMax,
    // A request that has started when a drain begins is still served.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // Our own schemas check bodies, so the framework's compilers need not be loaded.
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // The router would return 404 for longer paths; a path that is not an address is 400 at any
    // length.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answerError(parts),
    clientErrorHandler: answerClientError(parts.limits),
  });
  // The router must know every method, so that a path returns 405 for methods that it does not
  // accept.
  const more = METHODS.filter((method) => !app.supportedMethods.includes(method));
  for (const method of more) app.addHttpMethod(method);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parseJsonBody);
  app.addHook("onRequest", commonHeaders);
  app.addHook("onRequest", refuseUnknownPath(allow));
  app.addHook("onSend", closeWhenDraining(parts.draining));
  app.setErrorHandler(answerError(parts));
  mountProbes(app, parts);
  const { metrics, securityContact: contact } = parts;
  if (contact) mount(app, metrics, securityTxtPath, { GET: securityTxt(parts, contact) });
  const statuses = openStatuses(parts);
  const intents = { check: openCheck(parts), create: openCreate(parts) };
  const work = { statuses, intents, creates };
  app.register(async (scope) => mountApi(scope, parts, work), { prefix: apiPrefix });
  mountDashboard(app, parts, statuses, intents);
  mountPages(app, parts, statuses);
  return app;
}

type Work = { statuses: Statuses; intents: Intents; creates: Admission };

/** spec/service.md §4. A GET of a public operation ignores credentials and its query. */
function mountApi(api: FastifyInstance, parts: Parts, work: Work): void {
  api.addHook("onRequest", apiHeaders);
  const routes = openRoutes(parts, work);
  const describedRoute = (id: OperationId) => addDescribed(operations[id], routes[id]);
  const described = Object.entries(operations) as [OperationId, Operation][];
  for (const [path, found] of Map.groupBy(described, ([, { path }]) => path)) {
    // A GET looks up paths that are not an address.
    const other = found.every(([, { body }]) => body === "intent") && {
      GET: describedRoute("lookUpAddress"),
    };
    const own = found.map(([id, operation]) => [operation.method, describedRoute(id)] as const);
    mount(api, parts.metrics, toUrl(path), { ...Object.fromEntries(own), ...other });
  }
}

/** Adds to a route what its operation describes: the `Cache-Control`, and the fields it refuses. */
function addDescribed(operation: Operation, route: Route): Route {
  const { before = [], whenRead = [], handler } = route;
  const caching = operation.headers?.["Cache-Control"];
  const setting = caching ? [setHeader("cache-control", constantOf(caching))] : [];
  const refusing = operation.credentials.length > 0 ? [refuseFields(operation)] : [];
  return { before: [...setting, ...before], whenRead: [...whenRead, ...refusing], handler };
}

/** The handler of each operation. */
function openRoutes(
  parts: Parts,
  { statuses, intents, creates }: Work,
): Record<OperationId, Route> {
  return {
    createAddress: create(creates, intents.create, parts),
    checkAddress: check(parts, intents.check),
    lookUpAddress: lookup(parts),
    getStatus: status(parts, statuses),
    getReturns: returns(parts, statuses),
    getProof: proof(parts, statuses),
    getSimulation: simulation(parts, statuses),
    reportSent: sent(parts, statuses),
    streamStatus: events(parts, statuses),
    findOwnAddress: mine(parts),
    listAddresses: addresses(parts),
    listEvents: accountEvents(parts),
    findEvent: accountEvent(parts),
    ...webhookRoutes(parts),
    listChains: chains(parts),
    describe: openapi(),
  };
}

/** An API key with the scope can do the same as the dashboard's session. */
function webhookRoutes(parts: Parts): Record<keyof WebhookHandlers, Route> {
  const before = [apiKeyOnly(parts, "webhooks")];
  const routes = Object.entries(openWebhooks(parts)).map(([id, handler]) => [
    id,
    { before, handler },
  ]);
  return Object.fromEntries(routes);
}
