// The HTTP server below the framework: its time limits, its connection limit, and its drain. It
// refuses create requests above the limit before they reach the framework.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { networkOf } from "../../flow/networks.ts";
import { requestMsMax } from "../limits.ts";
import type { Parts } from "../parts.ts";
import { refuseConnect, refuseExpectation, refuseHost } from "../refuse.ts";
import { corsHeaders, headerValues } from "../routes.ts";
import { type Admission, tooMany } from "./admission.ts";

type ServerParts = Pick<Parts, "limits" | "metrics" | "draining"> & {
  creates: Admission;
  /** The path of create requests. Paths with percent-encoding are not recognized here. */
  createPath: string;
  /** Every method that at least one path accepts. */
  allow: string;
  newRequestId: () => string;
};

/**
 * How long an idle connection stays open. This is longer than most proxies' idle timeout, so that
 * the proxy closes the connection first.
 */
const idleMsMax = 72_000;
/** How often Node looks for requests that exceed their time limit. Node's default is 30 s. */
const timeoutsCheckedMs = 1_000;

/**
 * @param listener the framework's listener; it also refuses create requests above the limit,
 *   because this server does not recognize a percent-encoded path
 */
export function openServer(listener: RequestListener, parts: ServerParts): Server {
  const options = {
    keepAliveTimeout: idleMsMax,
    requestTimeout: requestMsMax,
    headersTimeout: parts.limits.headersMsMax,
    connectionsCheckingInterval: timeoutsCheckedMs,
    requireHostHeader: false,
  };
  const { createPath } = parts;
  const refuse = refuseCreate(parts);
  const isCreate = ({ method, url }: IncomingMessage) =>
    method === "POST" && (url === createPath || url?.startsWith(`${createPath}?`) === true);
  const server = createServer(options);
  serveBounded(server, parts.limits.connectionsMax, (request, response) => {
    if (!hasOneHost(request)) refuseHost(request, response);
    else if (isCreate(request) && parts.creates.isFull()) refuse(request, response);
    else listener(request, response);
  });
  server.on("checkExpectation", refuseExpectation);
  server.on("connect", refuseConnect(parts.allow));
  return server;
}

/**
 * The valid form of a Host header (RFC 9110 §7.2): a name or an address, optionally with a port.
 * HTTP/1.0 requires no Host header.
 */
const host = /^(\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d{0,5})?$/;

/**
 * Returns false if the request has an invalid `Host` header or several `Host` headers. With several
 * headers, a proxy could use one of them and this server another.
 */
function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  const [value, ...others] = headerValues(rawHeaders, "host");
  return value === undefined || (others.length === 0 && host.test(value));
}

/**
 * With latin1, Node sends headers and body in one write. Both are ASCII, so the encoding does not
 * change them.
 */
const encoding = "latin1";

/**
 * Returns a listener that refuses a create request. Like the framework's hooks, the listener adds
 * headers, counts the response, and closes the connection during a drain.
 */
function refuseCreate(parts: ServerParts): RequestListener {
  const { creates, newRequestId, metrics, draining } = parts;
  const route = parts.createPath;
  const seconds = metrics.responseSeconds.labels({ route });
  const headers = Object.entries({
    ...tooMany.headers,
    ...corsHeaders,
    "content-length": String(Buffer.byteLength(tooMany.body)),
  }).flat();
  return (_request, response) => {
    const own = ["x-request-id", newRequestId()];
    if (draining.aborted) own.push("connection", "close");
    response.writeHead(tooMany.status, [...own, ...headers]).end(tooMany.body, encoding);
    creates.refused();
    metrics.responses.inc({ route, status: tooMany.status });
    seconds.observe(0);
  };
}

/**
 * If one network's waiting connections exceed this fraction of `max`, a new connection from this
 * network replaces only connections of the same network.
 */
const share = 1 / 8;

/**
 * The maximum number of connections that the operating system queues until Node accepts them. The
 * operating system's limit may be lower (`net.core.somaxconn`). If the queue is full, the operating
 * system drops new connection attempts, and their clients retry only after a second. Node's default
 * is 511.
 */
export const connectionsWaitingMax = 4_096;

/**
 * The maximum number of pipelined requests that wait on one connection. One 64 KiB read can contain
 * about 2,000 requests, and Node emits all of them before it serves other connections. Browsers and
 * common proxies do not pipeline requests.
 */
const queuedMax = 16;

type Exchange = { request: IncomingMessage; response: ServerResponse };

/** `since` is a sequence number. The connection with the lowest number has waited longest. */
type State = {
  network: string;
  inProgress: Exchange | undefined;
  queued: Exchange[];
  since: number;
};

/**
 * Returns whether the server waits for the client: for a request, for the rest of a body, or for
 * the client to read a response.
 */
const isWaiting = ({ inProgress }: State) =>
  !inProgress || inProgress.response.writableEnded || !inProgress.request.complete;

/**
 * Serves each connection's requests one after another, so that a client that does not read its
 * responses has only one pending request. If there are more than `max` connections, closes those
 * that have waited for the client longest, up to one percent of `max`.
 *
 * @param max the maximum number of connections, including connections with a pending request
 */
function serveBounded(server: Server, max: number, serve: RequestListener): void {
  const states = new Map<Socket, State>();
  let turn = 0;

  const begin = (state: State, exchange: Exchange) => {
    // The client has disconnected, and the response would never emit `close`.
    if (exchange.request.socket.destroyed) return;
    state.inProgress = exchange;
    state.since = ++turn;
    exchange.response.once("close", rest);
    serve(exchange.request, exchange.response as Parameters<RequestListener>[1]);
  };
  function rest(this: ServerResponse) {
    const state = states.get(this.req.socket);
    if (!state) return;
    state.inProgress = undefined;
    state.since = ++turn;
    const next = state.queued.shift();
    if (next) setImmediate(begin, state, next);
  }
  const close = (socket: Socket) => {
    states.delete(socket);
    socket.destroy();
  };
  const makeRoom = (network: string) => {
    const waiting = [...states].filter(([, state]) => isWaiting(state));
    const own = waiting.filter(([, state]) => state.network === network);
    const longest = (own.length > max * share ? own : waiting).sort(
      ([, a], [, b]) => a.since - b.since,
    );
    for (const [socket] of longest.slice(0, Math.ceil(max / 100))) close(socket);
  };

  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    states.set(socket, { network, inProgress: undefined, queued: [], since: ++turn });
    socket.once("close", () => states.delete(socket));
    if (states.size > max) makeRoom(network);
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    const state = states.get(socket);
    // The connection was already closed, but the last read contained more requests.
    if (!state) return;
    if (!state.inProgress) begin(state, { request, response });
    else if (state.queued.length < queuedMax) state.queued.push({ request, response });
    else close(socket);
  });
}

/**
 * Prepares a drain. Must be called before the server listens.
 *
 * @returns a function that drains the server: stops listening, closes idle connections, and closes
 *   the connections of pending requests after `seconds`
 */
export function prepareDrain(app: FastifyInstance, log: Pick<Logger, "warn">) {
  // Connections that have not sent a request yet, because browsers open connections in advance.
  // Node does not count them as idle.
  const unused = new Set<Socket>();
  app.server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  app.server.on("request", (request) => unused.delete(request.socket));

  return async (seconds: number): Promise<void> => {
    const cut = setTimeout(() => {
      log.warn(
        { seconds },
        "requests that were still in progress after the drain period were canceled",
      );
      app.server.closeAllConnections();
    }, seconds * 1000);
    const closed = app.close();
    for (const socket of unused) socket.destroy();
    await closed;
    clearTimeout(cut);
  };
}
