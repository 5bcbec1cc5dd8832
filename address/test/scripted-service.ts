// A service for tests of the client. The service returns valid answers unless a test sets a
// different answer, and records every request.

import type { IncomingMessage } from "node:http";
import { factoryAddress, makeRecord } from "../index.ts";
import { chainListOf, checkOf, simulationOf, statusOf } from "./answers.ts";
import { sample } from "./samples.ts";
import { serve } from "./serve.ts";

type Answer = { status?: number; headers?: Record<string, string>; body: unknown };
type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

/**
 * A test sets this value as the body of an answer. For such an answer, the service closes the
 * connection and sends no response.
 */
export const hangUp = Symbol();

export const refusal = (status: number, code: string, headers = {}): Answer => ({
  status,
  headers,
  body: { error: { code, message: "why", issues: [{ path: ["token"], code: "x", message: "y" }] } },
});

/** The valid response of the service. */
function honest({ method, url, body }: Seen): Answer {
  const record = makeRecord(sample);
  if (method === "POST" && url === "/v1/address/create")
    return { body: makeRecord(JSON.parse(body)) };
  if (method === "POST" && url === "/v1/address/check")
    return { body: checkOf(makeRecord(JSON.parse(body))) };
  if (url === `/v1/address/${record.address}`) return { body: record };
  if (url === `/v1/address/${record.address}/status`)
    return { body: statusOf(record.address, "funded") };
  if (url === `/v1/address/${record.address}/simulation`)
    return { body: simulationOf(record.address) };
  if (url === "/v1/chains") return { body: chainListOf(factoryAddress) };
  return refusal(404, "not_found");
}

/**
 * Starts the service. The next requests get `answers`, in order. `reset` removes the remaining
 * answers and the recorded requests.
 */
export async function startScripted() {
  const seen: Seen[] = [];
  const answers: ((request: Seen) => Answer | undefined)[] = [];
  const server = await serve(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body };
    seen.push(one);
    const answer = answers.shift()?.(one) ?? honest(one);
    if (answer.body === hangUp) return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  return {
    baseUrl: `${server.origin}/v1`,
    seen,
    answers,
    once: (answer: Answer) => answers.push(() => answer),
    reset: () => {
      seen.length = 0;
      answers.length = 0;
    },
    close: server.close,
  };
}
