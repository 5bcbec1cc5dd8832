// Starts an HTTP server on a free port for the duration of a test.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type Served = { readonly origin: string; close(): Promise<void> };

export async function serve(listener: RequestListener): Promise<Served> {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
