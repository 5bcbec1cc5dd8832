// A JSON-RPC endpoint over HTTP.

import { type Rpc, type RpcAnswer, type RpcCall, RpcUnavailable } from "./json-rpc.ts";

/** What public endpoints accept in one batch. */
const batchSizeMax = 100;

/**
 * @param name how logs and metrics call it
 * @param timeoutMs of one HTTP request
 */
export function httpRpc(name: string, url: string, timeoutMs: number): Rpc {
  const post = async (body: object): Promise<unknown> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new RpcUnavailable(`${name} answered ${response.status}`);
    }
    return response.json();
  };
  let takesBatches = true;
  const ask = async (calls: RpcCall[]): Promise<RpcAnswer[]> => {
    const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    if (takesBatches) {
      const answers = await post(body);
      if (Array.isArray(answers)) return sorted(name, answers, calls.length);
      // Some answer a batch with one error: from then on they are asked call by call.
      takesBatches = false;
    }
    const answers = await Promise.all(body.map(post));
    return sorted(name, answers, calls.length);
  };
  return {
    name,
    async ask(calls) {
      const answers: RpcAnswer[] = [];
      for (let at = 0; at < calls.length; at += batchSizeMax) {
        try {
          answers.push(...(await ask(calls.slice(at, at + batchSizeMax))));
        } catch (error) {
          if (error instanceof RpcUnavailable) throw error;
          throw new RpcUnavailable(`${name}: ${error instanceof Error ? error.message : error}`);
        }
      }
      return answers;
    },
  };
}

/** Batches may be answered in any order; an answer missing makes the whole of it unusable. */
function sorted(name: string, body: unknown[], count: number): RpcAnswer[] {
  const answers = new Array<RpcAnswer | undefined>(count);
  for (const item of body as ({ id: number } & Record<string, unknown>)[]) {
    if (item?.error) answers[item.id] = { error: item.error as never };
    else if (item && "result" in item) answers[item.id] = { result: item.result };
  }
  return Array.from(answers, (answer) => {
    if (answer) return answer;
    throw new RpcUnavailable(`${name} left a call of the batch unanswered`);
  });
}
