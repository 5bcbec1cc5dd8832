// Keeps room for new connections. A process may open a limited number of files, and clients that
// connect and send nothing could take them all. Above the bound the connection that has waited
// longest for its client is closed, first among those of a client that has many.

import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../accounts/attempts.ts";

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
export function serveBounded(server: Server, max: number, serve: RequestListener): void {
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
