// Sets the response headers that are the same for several routes. Also reads and checks request
// headers. Header names are in lowercase.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { noSniff, Refusal } from "./errors.ts";

/** The maximum number of headers in a request. */
export const headersMax = 64;

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
  // RFC 9112 §3.2 requires a check for a `Host` header in HTTP/1.1. Node's own check would send a
  // response that has no body.
  if (request.raw.httpVersion === "1.1" && request.headers.host === undefined) {
    throw new Refusal(
      "invalid_request",
      "expected a Host header, which HTTP/1.1 requires, found none",
    );
  }
  done();
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
 * Returns an onSend hook. During a drain, the hook closes each connection after its response.
 * Without this hook, connections whose requests began before the drain would stay open.
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

/**
 * Returns all values of a header, in order. Node's `headers` keeps only the first `Authorization`
 * header. It joins the values of several `X-Client-Id` or `Origin` headers.
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
 * The syntax of a `Host` header: a name or an IP address, with an optional port (RFC 9110 §7.2). In
 * HTTP/1.0, the Host header is optional.
 */
const host = /^(\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d{0,5})?$/;

/**
 * Returns false if the request has an invalid `Host` header or several `Host` headers. If a request
 * had several `Host` headers, a proxy and this server could use different values.
 */
export function hasValidHost({ rawHeaders }: IncomingMessage): boolean {
  const [value, ...others] = headerValues(rawHeaders, "host");
  return value === undefined || (others.length === 0 && host.test(value));
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
