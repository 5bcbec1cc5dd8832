// One JSON-RPC endpoint, which adapts to what its provider allows: a batch that is refused for its
// size is halved; after a 429 fewer calls per second are sent, and none until its Retry-After has
// passed. Each call has an outcome of its own.

import { setTimeout as sleep } from "node:timers/promises";
import { type OpenCall, type Provider, sendBatch } from "./batch.ts";
import { type Answer, type Call, ChainUnavailable } from "./json-rpc.ts";
import { type Allowance, openPace, type Pace } from "./pace.ts";
import { httpTransport, type Transport } from "./transport.ts";

export type Endpoint = {
  /** Logs and metrics use it. It is never a URL, which may contain a key. */
  name: string;
  /**
   * Returns one answer per call, in order.
   * @param timeoutMs of one request, if not the endpoint's own
   * @throws {ChainUnavailable} if the endpoint could not be asked, or did not answer in time
   */
  ask(calls: readonly Call[], timeoutMs?: number): Promise<Answer[]>;
  /** Returns what its provider allows now. */
  readAllowance?(): Allowance;
};

type EndpointOptions = {
  /** The time for one request. */
  timeoutMs: number;
  /** The time for all requests of one `ask`, including pauses that the provider asked for. */
  patienceMs?: number;
};

/** The chain of an endpoint, and the operator's limits by URL. */
export type EndpointChain = {
  chainId: number;
  callsPerSecond?: Readonly<Record<string, number>> | undefined;
};

/** Simultaneous requests, if each may contain few calls. */
const lanesMax = 8;
const fewCalls = 8;

type KnownProvider = { chainId: number; name: string; pace: Pace };

/** By chain and URL: whoever asks a provider in this process shares what is learned of it. */
const providers = new Map<string, KnownProvider>();

/** Returns what each provider of a chain's endpoints allows this process. */
export const readProviders = () =>
  [...providers.values()].map(({ chainId, name, pace }) => ({ chainId, name, ...pace.read() }));

/**
 * @param name how logs and metrics call it
 * @param chain if absent, nothing is shared with other endpoints of this URL
 */
export function httpEndpoint(
  name: string,
  url: string,
  options: EndpointOptions,
  chain?: EndpointChain,
): Endpoint {
  const clock = { now: () => performance.now(), sleep };
  const key = `${chain?.chainId} ${url}`;
  const pace = providers.get(key)?.pace ?? openPace(clock.now, chain?.callsPerSecond?.[url]);
  if (chain) providers.set(key, { name, ...chain, ...providers.get(key), pace });
  return openEndpoint({ name, transport: httpTransport(url), pace }, clock, options);
}

/** `now`: milliseconds by a clock that does not go back. */
type Clock = { now(): number; sleep(ms: number): Promise<unknown> };

export function openEndpoint(
  provider: { name: string; transport: Transport; pace: Pace },
  clock: Clock,
  { timeoutMs, patienceMs = 2 * timeoutMs }: EndpointOptions,
): Endpoint {
  return {
    name: provider.name,
    readAllowance: provider.pace.read,
    ask: (calls, ms = timeoutMs) => askAll(provider, clock, calls, ms, patienceMs),
  };
}

async function askAll(
  provider: Provider,
  clock: Clock,
  calls: readonly Call[],
  timeoutMs: number,
  patienceMs: number,
): Promise<Answer[]> {
  const { name, pace } = provider;
  const answers = new Array<Answer>(calls.length);
  const open = calls.map((call, index): OpenCall => ({ call, index, attempts: 0 }));
  const untilMs = clock.now() + patienceMs;
  const lane = async () => {
    while (open.length > 0) {
      const pauseMs = pace.pauseMs(open);
      if (clock.now() + pauseMs > untilMs) {
        throw new ChainUnavailable(`${name} allows no more calls for ${pauseMs} ms`);
      }
      if (pauseMs > 0) await clock.sleep(pauseMs);
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
