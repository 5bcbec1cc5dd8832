// Starts a proxy in front of a local node. The proxy can refuse calls, omit data, return wrong
// results, or change the chain between calls.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Ask = (method: string, params: unknown[]) => Promise<unknown>;

/**
 * The behavior of a proxy: a function that returns the result of each call. `ask` sends the call to
 * the real node. To respond with an error, throw {@link NodeError}.
 */
export type Manner = (method: string, params: unknown[], ask: Ask) => Promise<unknown>;

export class NodeError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export async function startNode(rpcUrl: string, manner: Manner) {
  const calls: string[] = [];
  const ask: Ask = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(rpcUrl, { method: "POST", headers, body });
    const { result, error } = (await answer.json()) as { result: unknown; error?: NodeError };
    if (error) throw new NodeError(error.code, error.message);
    return result;
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method, params } = JSON.parse(text);
    calls.push(method);
    const answer = await manner(method, params ?? [], ask).then(
      (result) => ({ result: result ?? null }),
      ({ code, message }) => ({ error: { code, message } }),
    );
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    /** The methods of all calls, in the order of the calls. */
    calls,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Refuses log queries for more than `blocksMax` blocks, as most public nodes do. */
export const narrow =
  (blocksMax: number): Manner =>
  async (method, params, ask) => {
    if (method === "eth_getLogs") {
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
      const blocks = Number(toBlock) - Number(fromBlock) + 1;
      if (blocks > blocksMax) throw new NodeError(-32005, `${blocks} blocks are over ${blocksMax}`);
    }
    return ask(method, params);
  };

/** Returns code only at the newest block, like a node without the states of older blocks. */
export const forgetful =
  (next: Manner): Manner =>
  async (method, params, ask) => {
    const block = params[1];
    const isOld = typeof block === "string" && /^0x/.test(block) && method === "eth_getCode";
    if (isOld && block !== (await ask("eth_blockNumber", []))) {
      throw new NodeError(-32000, "missing trie node");
    }
    return next(method, params, ask);
  };

/** Refuses block parameters that contain a hash (EIP-1898). */
export const unhashed: Manner = async (method, params, ask) => {
  if (params.some((param) => Object.hasOwn(Object(param), "blockHash"))) {
    throw new NodeError(-32602, "invalid argument 1: cannot unmarshal object");
  }
  return ask(method, params);
};
