// Starts a proxy in front of a JSON-RPC endpoint. A test can make the proxy misbehave.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type Misbehaviour =
  | "none"
  | "timeout"
  | "500"
  | "429"
  | "stale"
  | "wrong_chain"
  | "drops_broadcasts"
  | "lies_on_receipts"
  | "false_failure";

type Call = { id: number; method: string; params: unknown[] };
type Answer = { id: number; jsonrpc: string; result?: unknown; error?: unknown };

/**
 * Starts the proxy.
 *
 * @param change returns the proxy's answer to a call; by default, the node's answer
 */
export async function startProxy(
  target: string,
  change: (call: Call, answer: Answer) => Answer | Promise<Answer> = (_call, answer) => answer,
) {
  let mode: Misbehaviour = "none";
  let staleAt: string | undefined;

  const answer = async (calls: Call[]): Promise<Answer[]> => {
    const requests = calls.map((call) => {
      const isLatest = call.method === "eth_getBlockByNumber" && call.params[0] === "latest";
      if (mode !== "stale" || !isLatest) return call;
      return { ...call, params: [staleAt, call.params[1]] };
    });
    const dropped = (call: Call) =>
      mode === "drops_broadcasts" && call.method === "eth_sendRawTransaction";
    const passed = requests.filter((call) => !dropped(call));
    const answers = passed.length > 0 ? await forward(target, passed) : [];
    const all = [
      ...answers,
      ...requests
        .filter(dropped)
        .map(({ id }) => ({ id, jsonrpc: "2.0", result: `0x${"00".repeat(32)}` })),
    ];
    return Promise.all(
      all.map((each) => {
        const call = calls.find(({ id }) => id === each.id)!;
        return change(call, twisted(each, call, mode));
      }),
    );
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      if (mode === "timeout") return; // never responds, so the caller's timeout ends the request
      if (mode === "500" || mode === "429") return response.writeHead(Number(mode)).end("no");
      try {
        const requests = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[];
        const answers = await answer([requests].flat());
        const body = JSON.stringify(Array.isArray(requests) ? answers : answers[0]);
        response.setHeader("content-type", "application/json").end(body);
      } catch {
        response.writeHead(502).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async behave(next: Misbehaviour) {
      if (next === "stale") {
        const [block] = await forward(target, [{ id: 0, method: "eth_blockNumber", params: [] }]);
        staleAt = block!.result as string;
      }
      mode = next;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function forward(target: string, calls: Call[]): Promise<Answer[]> {
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(calls),
  });
  return (await response.json()) as Answer[];
}

function twisted(answer: Answer, call: Call, mode: Misbehaviour): Answer {
  if (mode === "wrong_chain" && call.method === "eth_chainId") return { ...answer, result: "0x1" };
  if (call.method !== "eth_getTransactionReceipt" || !answer.result) return answer;
  const receipt = answer.result as object;
  if (mode === "lies_on_receipts") return { ...answer, result: null };
  if (mode === "false_failure")
    return { ...answer, result: { ...receipt, status: "0x0", logs: [] } };
  return answer;
}
