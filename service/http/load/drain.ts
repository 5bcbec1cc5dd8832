// Drains the server: requests under way are answered within a time limit, idle connections are
// closed at once.

import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";

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
