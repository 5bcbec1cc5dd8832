// Mounts a path: its methods, its CORS preflight, and the 405 response to all other methods. Also
// refuses unknown paths. The headers that all routes share are in headers.ts.

import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  onRequestHookHandler,
  onResponseHookHandler,
  preHandlerHookHandler,
  RouteHandlerMethod,
} from "fastify";
import { apiPrefix } from "../store/record.ts";
import { foundText, Refusal } from "./errors.ts";
import { corsHeaders } from "./headers.ts";
import type { Metrics } from "./metrics.ts";

/**
 * The hooks in `before` run before the body is read. The hooks in `whenRead` run afterwards. A GET
 * route also handles HEAD. `handler` returns the body of the response, or a reply that was already
 * sent. Fastify awaits a returned reply forever if the reply is never sent.
 */
export type Route = {
  /** By default, the maximum of the API. */
  bodyBytesMax?: number;
  before?: onRequestHookHandler[];
  whenRead?: preHandlerHookHandler[];
  handler: RouteHandlerMethod;
};

export function mount(
  app: FastifyInstance,
  metrics: Metrics,
  path: string,
  routes: Partial<Record<"GET" | "POST" | "DELETE", Route>>,
): void {
  const allowed = allowedMethods(Object.keys(routes));
  const allow = allowed.join(", ");
  const onResponse = countAnswers(metrics, app.prefix + path);
  for (const [method, route] of Object.entries(routes)) {
    const { before = [], whenRead = [], handler } = route;
    const hooks = { onRequest: before, preHandler: whenRead, onResponse };
    const bodyLimit = route.bodyBytesMax ?? app.initialConfig.bodyLimit!;
    app.route({ method: method as HTTPMethods, url: path, bodyLimit, ...hooks, handler });
  }
  // A preflight is answered before its body is read, so strangers cannot occupy memory with bodies.
  app.route({
    method: "OPTIONS",
    url: path,
    onRequest: async (_request, reply) => answerPreflight(reply, allow),
    handler: unreachable,
  });
  const others = app.supportedMethods.filter((method) => !allowed.includes(method));
  app.route({
    method: others as HTTPMethods[],
    url: path,
    // The refusal must come before the body is parsed. Otherwise, a request with a wrong method and
    // a wrong media type would get 415 instead of 405.
    onRequest: (request) => {
      throw new Refusal(
        "method_not_allowed",
        `expected one of the methods ${allow}, found ${request.method}`,
        {
          headers: { allow },
        },
      );
    },
    handler: unreachable,
    onResponse,
  });
}

/**
 * Returns all methods of a path. `methods` contains the methods of its routes. GET includes HEAD,
 * and OPTIONS is added.
 */
export const allowedMethods = (methods: readonly string[]): string[] => [
  ...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)),
  "OPTIONS",
];

/**
 * Returns an onRequest hook that refuses unknown paths. The hook must run before the body is
 * parsed. Otherwise, a request for an unknown path could get 415 instead of 404.
 *
 * @param allow the value of the `Allow` header with the methods of all paths
 */
export const refuseUnknownPath =
  (allow: string) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (!request.is404) return done();
    if (request.method !== "OPTIONS" || !isApi(request.url)) {
      throw unknownPath(request.url);
    }
    // Accepts a preflight request for an unknown path. The browser then sends the actual request,
    // so the page can read the 404 response.
    reply.headers(corsHeaders);
    answerPreflight(reply, allow);
  };

/** The error message does not contain the URL's query, because the query can contain a secret. */
export const unknownPath = (url: string) => {
  const found = foundText(url.split("?")[0]);
  const message = `the path ${found} does not exist; API paths start with ${apiPrefix}`;
  return new Refusal("unknown_path", message);
};

const apiPath = new RegExp(`^${apiPrefix}(?:[/?]|$)`);
export const isApi = (url: string) => apiPath.test(url);

/** Returns an onResponse hook that counts the responses of a route. */
export function countAnswers(metrics: Metrics, route: string): onResponseHookHandler {
  const seconds = metrics.responseSeconds.labels({ route });
  return (_request, { statusCode, elapsedTime }, done) => {
    metrics.responses.inc({ route, status: statusCode });
    seconds.observe(elapsedTime / 1000);
    done();
  };
}

/**
 * Responds to a CORS preflight request. Pages may send the headers of spec §5. Browsers may cache
 * the response for two hours.
 */
const answerPreflight = (reply: FastifyReply, allow: string): FastifyReply =>
  reply
    .code(204)
    .headers({
      allow,
      "access-control-allow-methods": allow,
      "access-control-allow-headers":
        "Authorization, Content-Type, X-Client-Id, If-None-Match, Last-Event-ID, traceparent",
      "access-control-max-age": "7200",
    })
    .send();

function unreachable(): never {
  throw new Error("expected the onRequest hook to answer before the handler");
}
