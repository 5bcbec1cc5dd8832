// Sends one JSON-RPC request to a provider over HTTP. Simulations replace this module, and only
// this one, so that they run everything above it.

import { type Call, ChainUnavailable } from "./json-rpc.ts";

/** `body` is undefined unless the status is 2xx. */
export type Response = {
  status: number;
  retryAfter: string;
  date: string;
  body: unknown;
};

/** Sends `calls` with their places as IDs; throws if there is no response within `timeoutMs`. */
export type Transport = (calls: readonly Call[], timeoutMs: number) => Promise<Response>;

/** Sends the user and password of `url` as RFC 7617 says: `fetch` refuses a URL that has them. */
export function httpTransport(url: string): Transport {
  const bare = new URL(url);
  const { username, password } = bare;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
  [bare.username, bare.password] = ["", ""];
  return (calls, timeoutMs) => post(bare.href, authorization, calls, timeoutMs);
}

async function post(
  url: string,
  authorization: string | undefined,
  calls: readonly Call[],
  timeoutMs: number,
): Promise<Response> {
  const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(authorization && { authorization }),
    },
    body: JSON.stringify(body.length === 1 ? body[0] : body),
    // AbortSignal refuses a fraction of a millisecond, which some clocks return.
    signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
  });
  const { status, ok, headers } = response;
  const [retryAfter, date] = [headers.get("retry-after") ?? "", headers.get("date") ?? ""];
  if (ok) return { status, retryAfter, date, body: JSON.parse(await readText(response)) };
  await response.body?.cancel();
  return { status, retryAfter, date, body: undefined };
}

/** More than any answer to a batch of ours; without a bound, one response may take all memory. */
const responseBytesMax = 32 * 2 ** 20;

async function readText({ body }: globalThis.Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) {
      throw new ChainUnavailable(`a response above ${responseBytesMax} bytes`, { isReached: true });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
