// Runs each request in the trace of its `traceparent`, with a span where spans are collected.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { isCollecting, parseTraceparent, startSpan, type Trace, withTrace } from "./trace.ts";

/** Log lines of a traced request name its trace; at `debug` each request has a line. */
export function traceRequests(app: FastifyInstance, log: Logger): void {
  app.addHook("onRequest", (request, reply, done) => {
    const trace = traceOf(request, reply, log);
    if (trace) withTrace(trace, done);
    else done();
  });
}

/** The trace of the request's own span, or the caller's where no spans are collected. */
function traceOf(request: FastifyRequest, reply: FastifyReply, log: Logger): Trace | undefined {
  const parent = parseTraceparent(request.headers.traceparent);
  if (!parent && !isCollecting()) return undefined;
  const { method, id: requestId } = request;
  // The route's pattern: a path itself may hold a secret.
  const route = request.routeOptions.url ?? "unknown path";
  const attributes = { "http.request.method": method, "http.route": route, requestId };
  const span = startSpan({ kind: "server", name: `${method} ${route}`, attributes }, parent);
  const trace = span?.trace ?? parent;
  if (!trace) return undefined;
  // When the answer was sent, or the client closed the connection.
  reply.raw.once("close", () => {
    const { statusCode, headersSent } = reply.raw;
    if (headersSent) span?.set({ "http.response.status_code": statusCode });
    span?.end(headersSent && statusCode >= 500 ? String(statusCode) : undefined);
    const ms = Math.round(reply.elapsedTime);
    const line = { requestId, method, route, status: headersSent ? statusCode : null, ms };
    withTrace(trace, () => log.debug(line, "request"));
  });
  return trace;
}
