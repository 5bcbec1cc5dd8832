// Limits the number of HTTP connections and their idle time. Serves the requests of a connection in
// order. Closes connections during a drain.

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
import { hasValidHost } from "../headers.ts";
import { type Limits, requestMsMax } from "../limits.ts";
import { refuseConnect, refuseExpectation, refuseHost } from "../refuse.ts";

/**
 * How long an idle connection stays open. Most proxies have a shorter idle timeout, so a proxy
 * usually closes the connection first.
 */
const idleMsMax = 72_000;
/** How often Node looks for requests that exceed their time limit. Node's default is 30 s. */
const timeoutsCheckedMs = 1_000;

/**
 * Returns a server that passes requests with a valid `Host` header to `listener`.
 *
 * @param allow every method that at least one path accepts
 */
export function openServer(
  listener: RequestListener,
  { headersMsMax, connectionsMax }: Pick<Limits, "headersMsMax" | "connectionsMax">,
  allow: string,
): Server {
  const server = createServer({
    keepAliveTimeout: idleMsMax,
    requestTimeout: requestMsMax,
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: timeoutsCheckedMs,
    requireHostHeader: false,
  });
  serveBounded(server, connectionsMax, (request, response) => {
    if (hasValidHost(request)) listener(request, response);
    else refuseHost(request, response);
  });
  server.on("checkExpectation", refuseExpectation);
  server.on("connect", refuseConnect(allow));
  return server;
}

/**
 * A fraction of the maximum number of connections. If a network has more waiting connections than
 * this fraction, its new connections replace only its own connections. Therefore, one network
 * cannot disconnect all other clients.
 */
const share = 1 / 8;

/**
 * The maximum number of connections that the operating system queues until Node accepts them. The
 * operating system's limit may be lower (`net.core.somaxconn`). If the queue is full, the operating
 * system drops new connections. Clients then retry after a second. Node's default is 511.
 */
export const connectionsWaitingMax = 4_096;

/**
 * The maximum number of pipelined requests that wait on one connection. A single read of 64 KiB can
 * contain about 2,000 requests. Node emits them all before it serves other connections. Browsers
 * and common proxies do not pipeline requests.
 */
const queuedMax = 16;

type Exchange = { request: IncomingMessage; response: ServerResponse };

/**
 * The state of a connection. `since` is a sequence number, and a lower number means that the
 * connection has waited longer.
 */
type State = {
  network: string;
  inProgress: Exchange | undefined;
  queued: Exchange[];
  since: number;
};

/** Returns whether it is the client's turn: to send data, or to read a response. */
const isWaiting = ({ inProgress }: State) =>
  !inProgress || inProgress.response.writableEnded || !inProgress.request.complete;

/**
 * Serves the requests of each connection one after another. A client that reads no responses has
 * therefore only one pending request. If a new connection exceeds `max`, the server closes
 * connections that are waiting for their clients. The server closes the connections that have
 * waited longest, up to one percent of `max`.
 *
 * @param max the maximum number of open connections, with and without a pending request
 */
function serveBounded(server: Server, max: number, serve: RequestListener): void {
  const states = new Map<Socket, State>();
  let turn = 0;

  const begin = (state: State, exchange: Exchange) => {
    // The client has already disconnected, so the response would never emit `close`.
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
    // The connection is closed, but the last read contained more requests.
    if (!state) return;
    if (!state.inProgress) begin(state, { request, response });
    else if (state.queued.length < queuedMax) state.queued.push({ request, response });
    else close(socket);
  });
}

/**
 * Prepares a drain. Must be called before the server listens.
 *
 * @returns a function that stops listening and closes idle connections; after `seconds`, it closes
 *   all other connections
 */
export function prepareDrain(app: FastifyInstance, log: Pick<Logger, "warn">) {
  // The connections that have not sent a request yet. Browsers open such connections in advance,
  // and Node does not count them as idle.
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
