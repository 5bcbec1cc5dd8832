// Mounts the methods of a path, its preflight, and the 405 refusal of all other methods. Reads the
// raw headers of requests, and sets the headers of every response. Header names are in lowercase,
// as in Fastify.

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
import { noSniff, Refusal } from "./errors.ts";
import type { Metrics } from "./metrics.ts";

/**
 * The hooks in `before` run in order before the body is read, and the hooks in `whenRead` run after
 * that. A route for GET also handles HEAD. `handler` must return the response and not the reply,
 * because a reply is thenable, and Fastify would wait for it.
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
  const allowed = allowedMethods(Object.keys(routes));
  const allow = allowed.join(", ");
  const onResponse = countAnswers(metrics, app.prefix + path);
  for (const [method, { before = [], whenRead = [], handler }] of Object.entries(routes)) {
    const hooks = { onRequest: before, preHandler: whenRead, onResponse };
    app.route({ method: method as HTTPMethods, url: path, ...hooks, handler });
  }
  app.route({ method: "OPTIONS", url: path, handler: preflight(allow) });
  const others = app.supportedMethods.filter((method) => !allowed.includes(method));
  app.route({
    method: others as HTTPMethods[],
    url: path,
    // Runs before the body is parsed. Otherwise, a request with a wrong method and a wrong media
    // type would be refused because of its media type.
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

/** Returns the methods that a path accepts if the path has routes for `methods`. */
export const allowedMethods = (methods: readonly string[]): string[] => [
  ...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)),
  "OPTIONS",
];

/**
 * Returns an onRequest hook that sets a header of the route. If the request is refused, the
 * `Cache-Control` of the refusal replaces the route's.
 */
export const setHeader =
  (name: string, value: string): onRequestHookHandler =>
  (_request, reply, done) => {
    reply.header(name, value);
    done();
  };

/**
 * Returns an onRequest hook that refuses unknown paths. The hook runs before the body is parsed.
 * Otherwise, a request for an unknown path could be refused because of its media type.
 *
 * @param allow the methods of all paths
 */
export const refuseUnknownPath =
  (allow: string) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (!request.is404) return done();
    if (request.method !== "OPTIONS" || !isApi(request.url)) {
      throw unknownPath();
    }
    // The preflight succeeds, so that the page can read the 404.
    reply.headers(corsHeaders);
    preflight(allow)(request, reply);
  };

export const unknownPath = () =>
  new Refusal("unknown_path", "this path does not exist; API paths start with /v1");

export const isApi = (url: string) => /^\/v1(?:[/?]|$)/.test(url);

/** Returns an onResponse hook that counts the responses of a route. */
export function countAnswers(metrics: Metrics, route: string): onResponseHookHandler {
  const count = metrics.countResponses(route);
  return (_request, { statusCode, elapsedTime }, done) => {
    count(statusCode, elapsedTime);
    done();
  };
}

/**
 * Answers a preflight. Allows pages to send the headers of spec §5, and allows browsers to skip
 * further preflights for two hours.
 */
const preflight = (allow: string) => (_request: FastifyRequest, reply: FastifyReply) => {
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
  throw new Error("rejected before the handler");
}

/** The maximum number of headers. Honest clients and proxies send fewer. */
const headersMax = 64;

/**
 * Returns every value of a header, in order. In contrast, Node's `headers` hides repeated headers:
 * it keeps only the first of two `Authorization` headers, and joins two `X-Client-Id` or `Origin`
 * headers.
 *
 * @param rawHeaders names and values in turn, as Node provides them
 * @param name in lowercase
 */
export function headerValues(rawHeaders: string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const found = rawHeaders[i] as string;
    if (found.length === name.length && found.toLowerCase() === name) {
      values.push(rawHeaders[i + 1] as string);
    }
  }
  return values;
}

/**
 * An onRequest hook for every path. Sets common headers. Refuses a request with too many headers,
 * because Node would silently drop the headers above its own limit.
 */
export function commonHeaders(request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.header("x-request-id", request.id).headers(noSniff);
  const count = request.raw.rawHeaders.length / 2;
  if (count > headersMax) {
    throw new Refusal(
      "headers_too_large",
      `expected at most ${headersMax} headers, found ${count}`,
    );
  }
  // RFC 9112 §3.2. Node's own refusal has no body.
  if (request.raw.httpVersion === "1.1" && request.headers.host === undefined) {
    throw new Refusal(
      "invalid_request",
      "expected a Host header, which HTTP/1.1 requires, found none",
    );
  }
  done();
}

/**
 * Refuses the header `Idempotency-Key`, because the client would rely on it, but this service
 * ignores it.
 *
 * @param cure how to repeat the request safely without the header
 * @throws {Refusal} if the header is present
 */
export function refuseIdempotencyKey(request: FastifyRequest, cure: string): void {
  if (request.headers["idempotency-key"] === undefined) return;
  throw new Refusal("invalid_request", `Idempotency-Key is not supported; ${cure}`);
}

/**
 * Sets the header `etag`. The tag must not contain a comma. If `ifNoneMatch` contains the tag or is
 * `*`, sets the status 304 and returns true. Tags are compared weakly (RFC 9110 §13.1.2).
 */
export function isKnown(etag: string, ifNoneMatch: string | undefined, reply: FastifyReply) {
  reply.header("etag", etag);
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (!tags?.includes(etag) && ifNoneMatch?.trim() !== "*") return false;
  reply.code(304);
  return true;
}

/**
 * Returns an onSend hook that closes connections during a drain. Without it, a request that began
 * before the drain would leave its connection open.
 */
export function closeWhenDraining(draining: AbortSignal) {
  return (
    _request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload: unknown) => void,
  ) => {
    if (draining.aborted) reply.header("connection", "close");
    done(null, payload);
  };
}

/** No response of /v1 depends on cookies, so every page can read every response. */
export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "X-Request-Id, RateLimit-Policy, RateLimit, Retry-After, ETag, WWW-Authenticate",
};

/** An onRequest hook for every path below /v1. */
export function apiHeaders(_request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.headers(corsHeaders);
  done();
}

/**
 * Returns a function that generates request IDs. The IDs are unique across processes and restarts,
 * and contain nothing that the client sent.
 */
export function requestIds(): () => string {
  const prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex");
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
