// Reads headers as they came over the wire, and sets those of every answer. Names are set in lower
// case, as Fastify keeps them.

import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "./errors.ts";

/** The media type of JSON that is sent as text; Fastify itself says it of what it writes. */
export const jsonType = "application/json; charset=utf-8";

/** More than any honest client or proxy sends. */
const headersMax = 64;

/**
 * Every value of a header, in order. Node's own `headers` keeps the first of two `Authorization`
 * and joins two `X-Client-Id` or `Origin`, which hides that there were two.
 *
 * @param rawHeaders names and values in turn, as Node gives them
 * @param name lower case
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

/** onRequest, for every path. Node drops headers silently beyond its own bound; we refuse first. */
export function commonHeaders(request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.header("x-request-id", request.id);
  reply.header("x-content-type-options", "nosniff");
  const count = request.raw.rawHeaders.length / 2;
  if (count > headersMax) {
    throw new Refusal(
      "headers_too_large",
      `expected at most ${headersMax} headers, found ${count}`,
    );
  }
  // RFC 9112 §3.2. Node's own refusal has no body.
  if (request.raw.httpVersion === "1.1" && request.headers.host === undefined) {
    throw new Refusal("invalid_request", "an HTTP/1.1 request names its Host");
  }
  done();
}

/** @throws {Refusal} rather than ignore what is relied on. @param cure how to repeat without it */
export function refuseIdempotencyKey(request: FastifyRequest, cure: string): void {
  if (request.headers["idempotency-key"] === undefined) return;
  throw new Refusal("invalid_request", `Idempotency-Key is not taken; ${cure}`);
}

/**
 * Names what is answered by `etag`, which has no comma. True, and the status 304, where the caller
 * has it: RFC 9110 §13.1.2, a weak comparison with a list, or with `*` alone.
 */
export function isKnown(etag: string, ifNoneMatch: string | undefined, reply: FastifyReply) {
  reply.header("etag", etag);
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (!tags?.includes(etag) && ifNoneMatch?.trim() !== "*") return false;
  reply.code(304);
  return true;
}

/** onSend: without it, a request that began before the drain would leave its connection open. */
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

/** No answer of /v1 depends on cookies, so any page may read any of them. */
export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "X-Request-Id, RateLimit-Policy, RateLimit, Retry-After, ETag, WWW-Authenticate",
};

/** onRequest, under /v1. */
export function apiHeaders(_request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.headers(corsHeaders);
  done();
}

/** Request ids, unique over processes and restarts. Nothing the client sent is part of them. */
export function requestIds(): () => string {
  const prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex");
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}
