// Room for new connections. A process may open so many files and no more; clients that connect and
// say nothing would take them all. Above the bound the connection that has waited longest for a
// request is closed, first among those of a client that holds many.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../accounts/attempts.ts";

/** One client's share of idle connections, from which its own go first. */
const share = 1 / 8;

/** Of open files, for databases, chains, logs and what Node needs. */
const filesReserved = 256;

type Report = { userLimits: { open_files: { soft: number | string } } };

/** As many connections as this process may hold, by its limit of open files. */
export function connectionsAllowed(): number {
  const { soft } = (process.report.getReport() as Report).userLimits.open_files;
  const files = typeof soft === "number" ? soft : 20_000;
  return Math.max(64, Math.min(files - filesReserved, 20_000));
}

/** @param max of all, those with a request under way included */
export function boundSockets(server: Server, max: number): void {
  const idle = new Set<Socket>();
  const idleOf = new Map<string, Set<Socket>>();
  let open = 0;

  const rest = (socket: Socket, network: string) => {
    idle.add(socket);
    const own = idleOf.get(network) ?? new Set();
    idleOf.set(network, own.add(socket));
  };
  const wake = (socket: Socket, network: string) => {
    idle.delete(socket);
    const own = idleOf.get(network);
    if (own?.delete(socket) && own.size === 0) idleOf.delete(network);
  };
  const networks = new WeakMap<Socket, string>();

  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    networks.set(socket, network);
    open++;
    rest(socket, network);
    socket.once("close", () => {
      open--;
      wake(socket, network);
    });
    if (open <= max) return;
    const own = idleOf.get(network) as Set<Socket>;
    const [longest] = own.size > max * share ? own : idle;
    longest?.destroy();
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const network = networks.get(socket) ?? "";
    wake(socket, network);
    response.once("close", () => {
      if (!socket.destroyed) rest(socket, network);
    });
  });
}
