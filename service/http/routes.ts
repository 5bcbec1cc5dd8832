// Mounts a path: its methods, its CORS preflight, and the 405 response to other methods. Also
// defines the hooks and functions for headers that all routes share. Header names are in lowercase.

import type { IncomingMessage } from "node:http";
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
import { foundText, noSniff, Refusal } from "./errors.ts";
import type { Metrics } from "./metrics.ts";

/**
 * The hooks in `before` run before the body is read, and the hooks in `whenRead` run after the body
 * was read. A GET route also handles HEAD. `handler` returns the body of the response. If `handler`
 * returns a reply, the reply must already be sent. Otherwise, Fastify would wait forever, because a
 * reply is thenable.
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
    // The hook must run before the body is parsed. Otherwise, a request with a wrong method and a
    // wrong media type would get 415 instead of 405.
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
 * Returns all methods that a path accepts if it has routes for `methods`. HEAD and OPTIONS are
 * added.
 */
export const allowedMethods = (methods: readonly string[]): string[] => [
  ...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : method)),
  "OPTIONS",
];

/**
 * Returns an onRequest hook that sets a response header. If the request is refused, the
 * `Cache-Control` of the refusal replaces the `Cache-Control` of the hook.
 */
export const setHeader =
  (name: string, value: string): onRequestHookHandler =>
  (_request, reply, done) => {
    reply.header(name, value);
    done();
  };

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
    // A preflight request for an unknown path succeeds. Otherwise, the browser would not send the
    // actual request, and the page could not read the 404 response.
    reply.headers(corsHeaders);
    preflight(allow)(request, reply);
  };

/** The message does not contain the query, because the query can contain a secret. */
export const unknownPath = (url: string) => {
  const found = foundText(url.split("?")[0]);
  const message = `the path ${found} does not exist; API paths start with /v1`;
  return new Refusal("unknown_path", message);
};

export const isApi = (url: string) => /^\/v1(?:[/?]|$)/.test(url);

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
 * Responds to a CORS preflight request. Lets pages send the headers of spec §5, and lets browsers
 * cache the preflight response for two hours.
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

/** The maximum number of headers in a request. */
const headersMax = 64;

/**
 * Returns all values of a header, in order. Node's `headers` hides repeated headers: it keeps only
 * the first `Authorization` header, and joins the values of several `X-Client-Id` or `Origin`
 * headers.
 *
 * @param rawHeaders alternating names and values, as in Node's `rawHeaders`
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
 * The syntax of a Host header (RFC 9110 §7.2): a name or an IP address, with an optional port. In
 * HTTP/1.0, the Host header is optional.
 */
const host = /^(\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d{0,5})?$/;

/**
 * Returns false if the request has an invalid `Host` header or several `Host` headers. If a request
 * had several `Host` headers, a proxy and this server could use different values.
 */
export function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  const [value, ...others] = headerValues(rawHeaders, "host");
  return value === undefined || (others.length === 0 && host.test(value));
}

/**
 * An onRequest hook for every path. Sets the headers that all responses share. Refuses requests
 * with too many headers, because Node would silently drop headers.
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
 * Refuses requests with `Idempotency-Key`, which the service does not support, because a client
 * that sends the header relies on its effect.
 *
 * @param cure how to repeat the request safely without the header
 * @throws {Refusal} if the header is present
 */
export function refuseIdempotencyKey(request: FastifyRequest, cure: string): void {
  if (request.headers["idempotency-key"] === undefined) return;
  throw new Refusal("invalid_request", `Idempotency-Key is not supported; ${cure}`);
}

/**
 * Sets the header `etag`. The ETag must not contain a comma. If `ifNoneMatch` contains the ETag or
 * is `*`, sets the status 304 and returns true. ETags are compared weakly (RFC 9110 §13.1.2).
 */
export function isKnown(etag: string, ifNoneMatch: string | undefined, reply: FastifyReply) {
  reply.header("etag", etag);
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (!tags?.includes(etag) && ifNoneMatch?.trim() !== "*") return false;
  reply.code(304);
  return true;
}

/**
 * Returns an onSend hook that closes each connection after its response during a drain. Without
 * this hook, connections whose requests began before the drain would stay open.
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

/** Any web page may read any response of /v1, because responses do not depend on cookies. */
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
 * Returns a function that generates request IDs. An ID is unique across processes and restarts, and
 * contains nothing from the client.
 */
export function requestIds(): () => string {
  const prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex");
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
