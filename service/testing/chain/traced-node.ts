// A node that keeps the `traceparent` of each request, and passes it on to a real one.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function startTracedNode(rpcUrl: string) {
  const seen: { traceparent: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ traceparent: request.headers.traceparent as string | undefined });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(rpcUrl, { method: "POST", headers, body });
    response.setHeader("content-type", "application/json");
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    /** With what an operator's URL may hold. */
    rpcUrl: `http://127.0.0.1:${port}/v2/rpc-secret?key=rpc-secret`,
    /** Gives what came since the last time it was asked. */
    taken: () => seen.splice(0),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
