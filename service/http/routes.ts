// Mounts a path: its own methods, the preflight, and 405 for every other method.

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
import { Refusal } from "./errors.ts";
import type { Metrics } from "./metrics.ts";

/**
 * `before` runs ahead of reading the body, in order, `whenRead` after it. HEAD comes with GET.
 * `handler` gives what is to be sent: Fastify waits for a returned reply, which is a thenable.
 */
export type Route = {
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
  const own = Object.keys(routes).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : method,
  );
  const allow = [...own, "OPTIONS"].join(", ");
  const onResponse = countAnswers(metrics, app.prefix + path);
  for (const [method, { before = [], whenRead = [], handler }] of Object.entries(routes)) {
    const hooks = { onRequest: before, preHandler: whenRead, onResponse };
    app.route({ method: method as HTTPMethods, url: path, ...hooks, handler });
  }
  app.route({ method: "OPTIONS", url: path, handler: preflight(allow) });
  const others = app.supportedMethods.filter((method) => !own.includes(method));
  app.route({
    method: others.filter((method) => method !== "OPTIONS") as HTTPMethods[],
    url: path,
    // Before the body: else its media type would be refused and not the method.
    onRequest: (request) => {
      throw new Refusal("method_not_allowed", `this path takes ${allow}, not ${request.method}`, {
        headers: { allow },
      });
    },
    handler: unreachable,
    onResponse,
  });
}

/** An onResponse hook. */
export function countAnswers(metrics: Metrics, route: string): onResponseHookHandler {
  const count = metrics.countResponses(route);
  return (_request, { statusCode, elapsedTime }, done) => {
    count(statusCode, elapsedTime);
    done();
  };
}

/** Allows a page the headers of spec §5, and two hours without another preflight. */
export const preflight = (allow: string) => (_request: FastifyRequest, reply: FastifyReply) => {
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
};

function unreachable(): never {
  throw new Error("refused before the handler");
}
