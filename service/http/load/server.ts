// The HTTP server below the framework: its time limits, its bound on connections, the refusal of
// creates that are too many before the framework sees them, and its drain.

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
import { networkOf } from "../../accounts/attempts.ts";
import type { Parts } from "../parts.ts";
import { refuseConnect, refuseExpectation, refuseHost } from "../refuse.ts";
import { corsHeaders } from "../routes.ts";
import { type Admission, tooMany } from "./admission.ts";

type ServerParts = Pick<Parts, "limits" | "metrics" | "draining"> & {
  creates: Admission;
  newRequestId: () => string;
};

/**
 * How long idle connections stay open: longer than proxies keep them, so that proxies close first.
 */
const idleMsMax = 72_000;
const requestMsMax = 30_000;
/** Node looks for late requests every 30 s unless it is told otherwise. */
const timeoutsCheckedMs = 1_000;

/** @param listener the framework's; it refuses creates whose path is spelled another way */
export function openServer(listener: RequestListener, parts: ServerParts): Server {
  const options = {
    keepAliveTimeout: idleMsMax,
    requestTimeout: requestMsMax,
    headersTimeout: parts.limits.headersMsMax,
    connectionsCheckingInterval: timeoutsCheckedMs,
    requireHostHeader: false,
  };
  const refuse = refuseCreate(parts);
  const server = createServer(options);
  serveBounded(server, parts.limits.connectionsMax, (request, response) => {
    if (!hasOneHost(request)) refuseHost(request, response);
    else if (isCreate(request) && parts.creates.isFull()) refuse(request, response);
    else listener(request, response);
  });
  server.on("checkExpectation", refuseExpectation);
  server.on("connect", refuseConnect);
  return server;
}

/** A name or an address, and perhaps a port. RFC 9110 §7.2; HTTP/1.0 needs none. */
const host = /^(\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d{0,5})?$/;

/** Two `Host` headers are refused, since a proxy before us may believe the other one. */
function hasOneHost({ rawHeaders, headers }: IncomingMessage): boolean {
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") found += 1;
  }
  return found === 0 || (found === 1 && host.test(headers.host ?? ""));
}

const createPath = "/v1/address/create";

const isCreate = ({ method, url }: IncomingMessage) =>
  method === "POST" && (url === createPath || url?.startsWith(`${createPath}?`) === true);

/** ASCII, as the text and the headers are: so Node writes both as one piece. */
const encoding = "latin1";

/** Adds what the framework's hooks add: headers, counts, and the close of a drain. */
function refuseCreate({ creates, newRequestId, metrics, draining }: ServerParts): RequestListener {
  const count = metrics.countResponses(createPath);
  const headers = Object.entries({
    ...tooMany.headers,
    ...corsHeaders,
    "x-content-type-options": "nosniff",
    "content-length": String(Buffer.byteLength(tooMany.body)),
  }).flat();
  return (_request, response) => {
    const own = ["x-request-id", newRequestId()];
    if (draining.aborted) own.push("connection", "close");
    response.writeHead(tooMany.status, [...own, ...headers]).end(tooMany.body, encoding);
    creates.refused();
    count(tooMany.status, 0);
  };
}

/** A client with a larger share of all connections loses its own waiting ones first. */
const share = 1 / 8;

/**
 * Connections that wait to be accepted; the system may allow fewer (`net.core.somaxconn`). Where
 * more come at once their clients try again only a second later. Node's own bound is 511.
 */
export const connectionsWaitingMax = 4_096;

/**
 * Requests of a connection that wait for their turn. Node hands over all that one read of 64 KiB
 * holds, some 2,000, before those of any other connection. No browser and no common proxy sends one
 * before the last was answered.
 */
const queuedMax = 16;

type Exchange = { request: IncomingMessage; response: ServerResponse };

/** `since` tells the order in which connections began to wait. */
type State = {
  network: string;
  underWay: Exchange | undefined;
  queued: Exchange[];
  since: number;
};

/** Whether the next step is the client's: a request, the rest of a body, to take an answer. */
const isWaiting = ({ underWay }: State) =>
  !underWay || underWay.response.writableEnded || !underWay.request.complete;

/**
 * Serves the requests of a connection one after the other: who takes no answer has one under way.
 * Only above the bound it looks for waiting connections, and then closes one in a hundred at once.
 *
 * @param max connections, those with a request under way included
 */
function serveBounded(server: Server, max: number, serve: RequestListener): void {
  const states = new Map<Socket, State>();
  let turn = 0;

  const begin = (state: State, exchange: Exchange) => {
    // Gone meanwhile: an answer that has no connection would never close.
    if (exchange.request.socket.destroyed) return;
    state.underWay = exchange;
    state.since = ++turn;
    exchange.response.once("close", rest);
    serve(exchange.request, exchange.response as Parameters<RequestListener>[1]);
  };
  function rest(this: ServerResponse) {
    const state = states.get(this.req.socket);
    if (!state) return;
    state.underWay = undefined;
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
    states.set(socket, { network, underWay: undefined, queued: [], since: ++turn });
    socket.once("close", () => states.delete(socket));
    if (states.size > max) makeRoom(network);
  });
  server.on("request", (request, response) => {
    const { socket } = request;
    const state = states.get(socket);
    // It was closed, and this is more of what one read of it held.
    if (!state) return;
    if (!state.underWay) begin(state, { request, response });
    else if (state.queued.length < queuedMax) state.queued.push({ request, response });
    else close(socket);
  });
}

/**
 * Call it before the server listens.
 * @returns what drains it: stops listening, closes what is idle, and cuts off what is still under
 *   way after `seconds`
 */
export function prepareDrain(app: FastifyInstance, log: Pick<Logger, "warn">) {
  // Browsers open connections ahead of use. Node counts those as busy until their first request.
  const unused = new Set<Socket>();
  app.server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  app.server.on("request", (request) => unused.delete(request.socket));

  return async (seconds: number): Promise<void> => {
    const cut = setTimeout(() => {
      log.warn({ seconds }, "requests still under way after the drain were cut off");
      app.server.closeAllConnections();
    }, seconds * 1000);
    const closed = app.close();
    for (const socket of unused) socket.destroy();
    await closed;
    clearTimeout(cut);
  };
}
