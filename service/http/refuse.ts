// Sends error responses through Fastify's reply or, if there is none, directly to the socket.

import { type IncomingMessage, maxHeaderSize, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import { CorruptError } from "../store/store.ts";
import { type Code, foundText, Refusal, statuses, toAnswer } from "./errors.ts";
import { corsHeaders, headerValues } from "./headers.ts";
import { type Limits, requestMsMax } from "./limits.ts";
import type { Parts } from "./parts.ts";
import { isApi } from "./routes.ts";

/** Returns the error handler for all paths, which converts any error to a response. */
export const answerError = ({ log, metrics }: Pick<Parts, "log" | "metrics">) => {
  const logLimited = limitLogs();
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    // The client disconnected while it was sending its body, so no response can reach it.
    const isCut = request.raw.destroyed && !request.raw.complete;
    const answer = toAnswer(isCut ? cutOff(request) : error, request);
    if (error instanceof CorruptError) metrics.corruptRecords.inc();
    if (answer.isFault) {
      logLimited(kindOfError(error), (leftOut) => {
        log.error({ err: error, requestId: request.id, leftOut }, "request failed");
      });
    }
    // The framework refuses an invalid URL before the hook that sets CORS headers runs.
    if (isApi(request.url)) reply.headers(corsHeaders);
    if (answer.status === statuses.body_too_large) takeRest(request.raw, reply);
    reply
      .code(answer.status)
      .header("x-request-id", request.id)
      .headers(answer.headers)
      .send(answer.body);
  };
};

const cutOff = ({ headers }: FastifyRequest) => {
  const bytes = headers["content-length"];
  const wanted = bytes === undefined ? "its end" : `${bytes} bytes`;
  return new Refusal("invalid_request", `the body: expected ${wanted}, found a closed connection`);
};

/**
 * Returns the kind of an error. The number of log lines per kind is limited. Errors whose messages
 * differ only in numbers are of the same kind. As an exception, each different message about a
 * corrupt record is a separate kind.
 */
function kindOfError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof CorruptError) return error.message;
  return messageKind(`${error.name} ${error.message}`);
}

/** The maximum number of bytes that the server reads and discards after it refuses a body. */
const restBytesMax = 8 * 2 ** 20;

/**
 * Reads and discards the rest of a refused body, at most {@link restBytesMax}. Some clients send
 * the whole body before they read the response. If the server closed the connection immediately,
 * these clients would get a connection reset.
 */
function takeRest(request: IncomingMessage, reply: FastifyReply): void {
  // By default, Node closes the connection directly after the response if the client sent
  // `Connection: close`. This function prevents that, and closes the connection at the end of the
  // request's body.
  if (!reply.raw.shouldKeepAlive) request.once("end", () => request.socket.end());
  reply.removeHeader("connection");
  reply.raw.shouldKeepAlive = true;
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > restBytesMax) request.socket.destroy();
  });
}

/** Refuses a request with an unknown `Expect` header. Node's own response would have no body. */
export function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  const found = foundText(request.headers.expect);
  refuseRaw(
    response,
    "expectation_failed",
    `expected Expect: 100-continue or no Expect header, found ${found}`,
  );
}

/**
 * Refuses a request with an invalid or repeated `Host` header. Runs before the framework, which
 * would ignore every `Host` header except the first.
 */
export function refuseHost({ rawHeaders }: IncomingMessage, response: ServerResponse): void {
  const hosts = headerValues(rawHeaders, "host");
  const found = hosts.length === 1 ? foundText(hosts[0]) : `${hosts.length} Host headers`;
  const wanted = "expected one Host header with a name and an optional port";
  refuseRaw(response, "invalid_request", `${wanted}, found ${found}`);
}

function refuseRaw(
  response: ServerResponse,
  ...[code, message]: ConstructorParameters<typeof Refusal>
): void {
  const { status, headers, body } = toAnswer(new Refusal(code, message));
  const length = { "content-length": Buffer.byteLength(body) };
  response.writeHead(status, { ...headers, ...socketHeaders, ...length });
  response.end(body);
}

/** The headers of error responses that are sent without the framework's hooks. */
const socketHeaders = { connection: "close", ...corsHeaders };

/** The time in which a client must read the last response and close the connection. */
const lingerMs = 1000;

/**
 * Returns a handler for requests that Node's HTTP parser rejects. Node creates no request object
 * for such a request.
 */
export const answerClientError = ({ headersMsMax }: Pick<Limits, "headersMsMax">) => {
  const refusals: Record<string, [Code, string]> = {
    HPE_HEADER_OVERFLOW: [
      "headers_too_large",
      `expected at most ${maxHeaderSize / 1024} KiB of headers, found more`,
    ],
    ERR_HTTP_REQUEST_TIMEOUT: [
      "request_timeout",
      `expected the headers within ${headersMsMax / 1000} s, and the whole request within ` +
        `${requestMsMax / 1000} s`,
    ],
  };
  return (error: Error & { code?: string; reason?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const found = error.reason ? `: ${error.reason}` : "";
    const notHttp: [Code, string] = ["invalid_request", `expected an HTTP/1.1 request${found}`];
    endWith(socket, new Refusal(...(refusals[error.code ?? ""] ?? notHttp)));
  };
};

/**
 * Refuses CONNECT requests. Otherwise, Node would close the connection without a response.
 *
 * @param allow the value of the `Allow` header, which lists all methods that the server supports
 */
export const refuseConnect = (allow: string) => (_request: IncomingMessage, socket: Duplex) => {
  const message = `this server is not a proxy: expected one of the methods ${allow}, found CONNECT`;
  endWith(socket, new Refusal("method_not_allowed", message, { headers: { allow } }));
};

function endWith(socket: Duplex, refusal: Refusal): void {
  const { status, body, headers: own } = toAnswer(refusal);
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const headers = Object.entries({ ...own, ...socketHeaders, ...length });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`);
  // Without this timeout, a client that never closes the connection would keep the socket open
  // forever.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
