// One JSON-RPC endpoint over HTTP, which adapts to what its provider allows: a batch that is
// refused for its size is cut in half; after a 429 fewer calls a second are sent, and none before
// its Retry-After has passed. Each call has an outcome of its own.

import { setTimeout as wait } from "node:timers/promises";
import { type OpenCall, type Provider, sendBatch } from "./batch.ts";
import { type Answer, type Call, ChainUnavailable } from "./json-rpc.ts";
import { openPace } from "./pace.ts";

export type Endpoint = {
  /** Logs and metrics use it. It is never a URL, which may contain a key. */
  name: string;
  /**
   * One answer per call, in order.
   * @param timeoutMs of one request, where it is to be another than the endpoint's own
   * @throws {ChainUnavailable} when the endpoint could not be asked, or not in time
   */
  ask(calls: readonly Call[], timeoutMs?: number): Promise<Answer[]>;
};

type EndpointOptions = {
  /** The time for one HTTP request. */
  timeoutMs: number;
  /** The time for all requests of one `ask`, waiting for the provider included. */
  patienceMs?: number;
};

/** Requests under way at once, where each may hold few calls. */
const lanesMax = 8;
const fewCalls = 8;

/**
 * @param name how logs and metrics call it
 * @param url its user and password, where it has them, are sent as RFC 7617 says: `fetch` refuses
 *   a URL that holds any
 */
export function httpEndpoint(name: string, url: string, options: EndpointOptions): Endpoint {
  const { patienceMs = 2 * options.timeoutMs } = options;
  const bare = new URL(url);
  const { username, password } = bare;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
  [bare.username, bare.password] = ["", ""];
  const pace = openPace(() => performance.now());
  const provider: Provider = { name, url: bare.href, authorization, pace };
  return {
    name,
    ask: (calls, timeoutMs = options.timeoutMs) => askAll(provider, calls, timeoutMs, patienceMs),
  };
}

async function askAll(
  provider: Provider,
  calls: readonly Call[],
  timeoutMs: number,
  patienceMs: number,
): Promise<Answer[]> {
  const { name, pace } = provider;
  const answers = new Array<Answer>(calls.length);
  const open = calls.map((call, index): OpenCall => ({ call, index, attempts: 0 }));
  const untilMs = performance.now() + patienceMs;
  const lane = async () => {
    while (open.length > 0) {
      const pauseMs = pace.pauseMs();
      if (performance.now() + pauseMs > untilMs) {
        throw new ChainUnavailable(`${name} allows no more calls for ${pauseMs} ms`);
      }
      if (pauseMs > 0) await wait(pauseMs);
      else open.push(...(await sendBatch(provider, pace.take(open), answers, timeoutMs)));
    }
  };
  const lanes = pace.callsMax() < fewCalls ? lanesMax : 1;
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } catch (error) {
    open.length = 0;
    throw unavailable(name, error);
  }
  return answers;
}

/** `isReached`: it was asked and did not answer in time. */
function unavailable(name: string, error: unknown): ChainUnavailable {
  if (error instanceof ChainUnavailable) return error;
  const isReached = error instanceof Error && error.name === "TimeoutError";
  const message = error instanceof Error ? error.message : String(error);
  return new ChainUnavailable(`${name}: ${message}`, { isReached });
}
