// Keeps room for new connections. A process may open a limited number of files, and clients that
// connect and send nothing could take them all. Above the bound the connection that has been idle
// longest is closed, first among those of a client that holds many.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../accounts/attempts.ts";

/** A client that holds a larger share of all connections loses its own idle ones first. */
const share = 1 / 8;

/** Open files kept for databases, chains, logs and Node itself. */
const filesReserved = 256;

/**
 * Connections that wait to be accepted; the system may allow fewer (`net.core.somaxconn`). Where
 * more come at once their clients try again only a second later: with Node's 511 a burst of
 * creates, many of them over new connections, had look-ups wait for seconds.
 */
export const connectionsWaitingMax = 4_096;

type Report = { userLimits: { open_files: { soft: number | string } } };

/** As many connections as this process may hold, by its limit of open files. */
export function connectionsAllowed(): number {
  const { soft } = (process.report.getReport() as Report).userLimits.open_files;
  const files = typeof soft === "number" ? soft : 20_000;
  return Math.max(64, Math.min(files - filesReserved, 20_000));
}

/** `since` tells the order in which connections fell idle; `busy` counts requests under way. */
type State = { network: string; busy: number; since: number };

/**
 * A request costs two additions; what is idle is looked for only above the bound, and then one in a
 * hundred goes at once.
 *
 * @param max of all, those with a request under way included
 */
export function boundSockets(server: Server, max: number): void {
  const states = new Map<Socket, State>();
  let turn = 0;

  function rest(this: ServerResponse) {
    const state = states.get(this.req.socket);
    if (!state) return;
    state.busy--;
    state.since = ++turn;
  }
  const makeRoom = (network: string) => {
    const idle = [...states].filter(([, { busy }]) => busy === 0);
    const own = idle.filter(([, state]) => state.network === network);
    const longest = (own.length > max * share ? own : idle).sort(
      ([, a], [, b]) => a.since - b.since,
    );
    for (const [socket] of longest.slice(0, Math.ceil(max / 100))) {
      states.delete(socket);
      socket.destroy();
    }
  };

  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    states.set(socket, { network, busy: 0, since: ++turn });
    socket.once("close", () => states.delete(socket));
    if (states.size > max) makeRoom(network);
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const state = states.get(socket);
    if (state) state.busy++;
    response.once("close", rest);
  });
}
