// Nodes with fixed answers, for tests of programs that work only with the local chain.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Starts a node of chain 1 that returns its chain ID for every call. */
export const startOtherChain = (t: TestContext) => startFixedNode(t, () => "0x1");

/**
 * Starts a node that returns `resultOf(method)` for each request. Stops the node after the test.
 * Records the `methods`.
 */
export async function startFixedNode(t: TestContext, resultOf: (method: string) => unknown) {
  const methods: string[] = [];
  const node = createServer(async (request, response) => {
    let asked = "";
    for await (const chunk of request) asked += chunk;
    const { id, method } = JSON.parse(asked);
    methods.push(method);
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method) }));
  }).listen(0, "127.0.0.1");
  t.after(() => node.close());
  await once(node, "listening");
  return { methods, rpcUrl: `http://127.0.0.1:${(node.address() as AddressInfo).port}` };
}
