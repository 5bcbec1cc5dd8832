// Builds the HTTP service: all routes, and the rules that apply to every response.
//
// Every /v1 response allows all origins, regardless of its status (CORS `*`). Every response has an
// X-Request-Id, unless Node refuses the request before the framework sees it. All errors, including
// errors from the framework, have the format that spec/service.md §7 defines.

import { METHODS } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { apiPrefix } from "../store/record.ts";
import { chains, mountProbes, openapi, securityTxt, securityTxtPath } from "./about/about.ts";
import { apiKeyOnly } from "./authorize/authorize.ts";
import { check, openCheck } from "./create/check.ts";
import { create, openCreate } from "./create/create.ts";
import type { Intents } from "./dashboard/addresses.ts";
import { mountDashboard } from "./dashboard/dashboard.ts";
import { apiHeaders, closeWhenDraining, commonHeaders, requestIds, setHeader } from "./headers.ts";
import { malformedAddress, parseJsonBody, refuseFields } from "./input.ts";
import { addresses, mine, openAddressPages, type ShowPage } from "./lists/addresses.ts";
import { accountEvent, accountEvents } from "./lists/events.ts";
import { openSearches, type SearchInTurn } from "./lists/turn.ts";
import { type Admission, admitCreates, refuseEarly } from "./load/admission.ts";
import { openServer } from "./load/connections.ts";
import { lookup } from "./lookup/lookup.ts";
import { type Operation, type OperationId, operations, toUrl } from "./openapi/operations.ts";
import { constantOf } from "./openapi/responses.ts";
import { mountPages } from "./pages/pages.ts";
import type { Parts } from "./parts.ts";
import { proof } from "./proof/proof.ts";
import { answerClientError, answerError } from "./refuse.ts";
import { allowedMethods, mount, type Route, refuseUnknownPath } from "./routes.ts";
import { simulation } from "./simulation/simulation.ts";
import { events } from "./status/events.ts";
import { sent } from "./status/sent.ts";
import { openStatuses, returns, type Statuses, status } from "./status/status.ts";
import { openWebhooks, type WebhookHandlers } from "./webhooks/webhooks.ts";

/**
 * The maximum size of a body. Every valid intent fits, even if all characters are escaped twice.
 */
export const bodyBytesMax = 192 * 1024;

/** All methods that at least one path accepts. */
const allow = allowedMethods([
  ...new Set(Object.values(operations).map(({ method }) => method)),
]).join(", ");

/**
 * Replaces Fastify's schema compilers, which Fastify would load at startup. Fastify calls this
 * function only if a route has a Fastify schema. No route has one, because our own schemas check
 * all input.
 */
const noSchema = () => {
  throw new Error("a route must not have a Fastify schema; our own schemas check its input");
};

export function buildApp(parts: Parts): FastifyInstance {
  const newRequestId = requestIds();
  const creates = admitCreates(parts);
  const createPath = `${apiPrefix}${operations.createAddress.path}`;
  const app = Fastify({
    logger: false,
    serverFactory(listener) {
      const early = refuseEarly(listener, creates, { ...parts, createPath, newRequestId });
      return openServer(early, parts.limits, allow);
    },
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: parts.trustedProxies ?? false,
    bodyLimit: bodyBytesMax,
    // During a drain, the server completes the requests that have already started.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // Our own schemas check bodies, so the framework does not need to load its schema compilers.
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
    // By default, the router returns 404 for a path parameter of more than 100 characters. The API
    // must return 400 for an invalid address of any length.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answerError(parts),
    clientErrorHandler: answerClientError(parts.limits),
  });
  // Adds every method that Node accepts. For an unknown method, the router would return 404 instead
  // of 405.
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
  const searchInTurn = openSearches(parts);
  const showPage = openAddressPages(parts, searchInTurn);
  const work = { statuses, intents, creates, searchInTurn, showPage };
  app.register(async (scope) => mountApi(scope, parts, work), { prefix: apiPrefix });
  mountDashboard(app, parts, work);
  mountPages(app, parts, statuses);
  return app;
}

type Work = {
  statuses: Statuses;
  intents: Intents;
  creates: Admission;
  searchInTurn: SearchInTurn;
  showPage: ShowPage;
};

/**
 * Mounts the operations of spec/service.md §4. For a public operation, a GET request may contain
 * credentials and query fields, which are ignored.
 */
function mountApi(api: FastifyInstance, parts: Parts, work: Work): void {
  api.addHook("onRequest", apiHeaders);
  const routes = openRoutes(parts, work);
  const describedRoute = (id: OperationId) => addDescribed(operations[id], routes[id]);
  const described = Object.entries(operations) as [OperationId, Operation][];
  for (const [path, found] of Map.groupBy(described, ([, { path }]) => path)) {
    const other = found.every(([, { body }]) => body === "intent") && { GET: misreadAddress(path) };
    const own = found.map(([id, operation]) => [operation.method, describedRoute(id)] as const);
    mount(api, parts.metrics, toUrl(path), { ...Object.fromEntries(own), ...other });
  }
}

/**
 * Returns the GET route of a path such as /address/create. A GET request for this path is a lookup
 * of the invalid address "create", so the route returns 400 and not 405.
 */
const misreadAddress = (path: string): Route => ({
  async handler() {
    throw malformedAddress(path.split("/").at(-1), `; ${apiPrefix}${path} accepts only POST`);
  },
});

/**
 * Adds two hooks to a route. One hook sets the `Cache-Control` header that the operation describes.
 * The other hook refuses fields that the operation does not describe, unless the operation is
 * public.
 */
function addDescribed(operation: Operation, route: Route): Route {
  const { before = [], whenRead = [], handler } = route;
  const caching = operation.headers?.["Cache-Control"];
  const setting = caching ? [setHeader("cache-control", constantOf(caching))] : [];
  const refusing = operation.credentials.length > 0 ? [refuseFields(operation)] : [];
  return { before: [...setting, ...before], whenRead: [...whenRead, ...refusing], handler };
}

/** Returns the route of each operation. */
function openRoutes(
  parts: Parts,
  { statuses, intents, creates, searchInTurn, showPage }: Work,
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
    listAddresses: addresses(parts, showPage),
    listEvents: accountEvents(parts, searchInTurn),
    findEvent: accountEvent(parts),
    ...webhookRoutes(parts),
    listChains: chains(parts),
    describe: openapi(),
  };
}

/** The webhook operations accept an API key with the scope `webhooks`. */
function webhookRoutes(parts: Parts): Record<keyof WebhookHandlers, Route> {
  const before = [apiKeyOnly(parts, "webhooks")];
  const routes = Object.entries(openWebhooks(parts)).map(([id, handler]) => [
    id,
    { before, handler },
  ]);
  return Object.fromEntries(routes);
}
