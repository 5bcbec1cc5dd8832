// Sends calls to one JSON-RPC endpoint over HTTP, in batches, and adapts to the provider's limits.
// If the provider refuses a batch because of its size, sends smaller batches. After a 429 response,
// waits as long as Retry-After says. Then sends fewer calls per second. Each call of a batch gets
// its own answer or error.

import { setTimeout as sleep } from "node:timers/promises";
import { readRetryAfterSeconds } from "executable-address/client";
import { type Answer, type Call, ChainUnavailable } from "./json-rpc.ts";
import { classifyError } from "./node-errors.ts";
import { type Allowance, openPace, type Pace } from "./pace.ts";

export type Endpoint = {
  /** For logs and metrics. The name is never the URL, because a URL can contain an API key. */
  name: string;
  /**
   * Returns one answer per call, in order.
   * @param timeoutMs the timeout of each request; by default, the endpoint's own
   * @param mayWait called before each wait that the provider demands; if it returns false, the
   *   remaining calls are canceled
   * @throws {ChainUnavailable} if the endpoint could not be reached, or did not answer in time
   */
  ask(calls: readonly Call[], timeoutMs?: number, mayWait?: () => boolean): Promise<Answer[]>;
  /** Returns the provider's current limits. */
  readAllowance?(): Allowance;
  /** Returns whether `ask` would fail because the provider demands too long a pause. */
  isPaused?(calls: readonly Call[]): boolean;
};

type EndpointOptions = {
  timeoutMs: number;
  /** The maximum total time of one `ask`, including the waits that the provider demands. */
  patienceMs?: number;
};

/** The chain of an endpoint, and the operator's rate limits by URL. */
export type EndpointChain = {
  chainId: number;
  callsPerSecond?: Readonly<Record<string, number>> | undefined;
};

/**
 * The maximum number of parallel requests of one `ask`. Requests are parallel only if the provider
 * accepts fewer than `fewCalls` calls per request. Otherwise, the requests of an `ask` are sent one
 * after another.
 */
const lanesMax = 8;
const fewCalls = 8;

type KnownProvider = { chainId: number; name: string; pace: Pace };

/** The providers by chain and URL. All users of a provider in this process share its limits. */
const providers = new Map<string, KnownProvider>();

export const readProviders = () =>
  [...providers.values()].map(({ chainId, name, pace }) => ({ chainId, name, ...pace.read() }));

/**
 * Opens the endpoint at `url`.
 *
 * @param name the name in logs and metrics
 * @param chain if present, all endpoints with the same URL in this process share the provider's
 *   limits
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
  return openEndpoint({ name, transport: httpTransport(name, url), pace }, clock, options);
}

/**
 * Opens the endpoints of a chain. Names consist of position and host, because the URL's path can
 * contain an API key.
 *
 * @param chain as in {@link httpEndpoint}
 * @param what a prefix for the names
 */
export const openEndpoints = (
  chain: EndpointChain | undefined,
  urls: readonly string[],
  options: EndpointOptions,
  what = "",
): Endpoint[] =>
  urls.map((url, i) => httpEndpoint(`${what}${i}:${new URL(url).host}`, url, options, chain));

/** `now`: milliseconds of a monotonic clock. */
type Clock = { now(): number; sleep(ms: number): Promise<unknown> };

export function openEndpoint(
  provider: { name: string; transport: Transport; pace: Pace },
  clock: Clock,
  { timeoutMs, patienceMs = 2 * timeoutMs }: EndpointOptions,
): Endpoint {
  return {
    name: provider.name,
    readAllowance: provider.pace.read,
    isPaused: (calls) => provider.pace.pauseMs(calls.map((call) => ({ call }))) > patienceMs,
    ask: (calls, ms = timeoutMs, mayWait = () => true) =>
      askAll(provider, clock, calls, { timeoutMs: ms, patienceMs, mayWait }),
  };
}

async function askAll(
  provider: Provider,
  clock: Clock,
  calls: readonly Call[],
  { timeoutMs, patienceMs, mayWait }: Required<EndpointOptions> & { mayWait(): boolean },
): Promise<Answer[]> {
  const { name, pace } = provider;
  const answers = new Array<Answer>(calls.length);
  let open: readonly OpenCall[] = calls.map(
    (call, index): OpenCall => ({ call, index, attempts: 0 }),
  );
  const untilMs = clock.now() + patienceMs;
  const lane = async () => {
    while (open.length > 0) {
      const pauseMs = pace.pauseMs(open);
      const isCanceled = pauseMs > 0 && pace.isThrottled(open) && !mayWait();
      if (isCanceled || clock.now() + pauseMs > untilMs) {
        throw new ChainUnavailable(`${name} allows no more calls for ${pauseMs} ms`);
      }
      if (pauseMs > 0) {
        await clock.sleep(pauseMs);
        continue;
      }
      const { taken, rest } = pace.take(open);
      open = rest;
      const { answered, left } = await sendBatch(provider, taken, timeoutMs);
      for (const { index, answer } of answered) answers[index] = answer;
      open = [...open, ...left];
    }
  };
  const lanes = pace.callsMax() < fewCalls ? lanesMax : 1;
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } catch (error) {
    open = [];
    throw unavailable(name, error);
  }
  return answers;
}

/** Converts an error of a request to ChainUnavailable. After a timeout, `isReached` is true. */
function unavailable(name: string, error: unknown): ChainUnavailable {
  if (error instanceof ChainUnavailable) return error;
  const isReached = error instanceof Error && error.name === "TimeoutError";
  const message = error instanceof Error ? error.message : String(error);
  // `fetch` reports the system's error, such as ECONNREFUSED, only as the cause of its own error.
  const cause =
    error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  const code = cause?.code ? ` (${cause.code})` : "";
  return new ChainUnavailable(`${name}: ${message}${code}`, { isReached });
}

type Provider = { name: string; transport: Transport; pace: Pace };

/** A call without an answer. `index` is its position in the list of answers. */
type OpenCall = { call: Call; index: number; attempts: number };

/**
 * The maximum number of attempts per call. If the last attempt fails with a temporary error, that
 * error is the call's answer.
 */
const attemptsMax = 4;
/** Methods that are not retried, because the caller makes a smaller request instead. */
const triedOnce = new Set(["eth_getLogs", "eth_getBlockReceipts"]);

/** The answers to a batch, and the calls that must be sent again (`left`). */
type BatchResult = { answered: { index: number; answer: Answer }[]; left: OpenCall[] };

/** @throws {ChainUnavailable} if the whole request failed */
async function sendBatch(
  provider: Provider,
  batch: OpenCall[],
  timeoutMs: number,
): Promise<BatchResult> {
  const { name, pace, transport } = provider;
  if (batch.length === 0) return { answered: [], left: [] };
  const calls = batch.map(({ call }) => call);
  const { status, body, ...times } = await transport(calls, timeoutMs);
  if (status === 429) {
    const seconds = readRetryAfterSeconds(times.retryAfter, times.date);
    const isOfLogs = calls.some(({ method }) => method === "eth_getLogs");
    pace.limited(isOfLogs ? "eth_getLogs" : undefined, seconds && seconds * 1000);
    const error = { code: 429, message: `${name} answered with status 429` };
    return retryLater(provider, batch, { error });
  }
  const isRefused = status === 413 || (status === 400 && batch.length > 1);
  if (isRefused && batch.length > 1) {
    pace.tooMuch(batch.length);
    return { answered: [], left: batch };
  }
  if (status < 200 || status > 299) {
    throw new ChainUnavailable(`${name} answered with status ${status}`, { isReached: true });
  }
  return readBatch(provider, batch, body);
}

/**
 * Reads the response to a batch. The answers can be in any order and can be incomplete. A provider
 * can also return one error for the whole batch.
 */
function readBatch(provider: Provider, batch: OpenCall[], body: unknown): BatchResult {
  const { name, pace } = provider;
  const items = (Array.isArray(body) ? body : [body]) as (Partial<Reply> | null)[];
  const found = new Map<number, Answer>();
  for (const item of items) {
    const answer = readAnswer(item);
    const id = readId(item?.id);
    if (id !== undefined && answer) found.set(id, answer);
  }
  if (found.size === 0) {
    const fault = items.map(readAnswer).find((answer) => answer && "error" in answer);
    if (batch.length === 1 && fault) return settle(provider, batch, () => fault);
    if (batch.length === 1 || !fault) {
      throw unanswered(name, batch[0]!);
    }
    const isLimited = "error" in fault && classifyError("", fault.error) === "rate_limited";
    if (isLimited) pace.limited();
    else pace.tooMuch(batch.length);
    return {
      answered: [],
      left: batch.map((each) => ({ ...each, attempts: each.attempts + 0.5 })),
    };
  }
  pace.succeeded(new Set(batch.map(({ call }) => call.method)));
  return settle(provider, batch, (index) => found.get(index));
}

function settle(
  provider: Provider,
  batch: OpenCall[],
  answerTo: (index: number) => Answer | undefined,
): BatchResult {
  const limited = new Set<string>();
  const results = batch.map((each, index): BatchResult => {
    const answer = answerTo(index) ?? missing;
    const { method } = each.call;
    const kind = "error" in answer ? classifyError(method, answer.error) : undefined;
    if (kind === "rate_limited") limited.add(method);
    if (answer === missing || kind === "rate_limited" || kind === "transient") {
      return retryLater(provider, [each], answer);
    }
    return { answered: [{ index: each.index, answer }], left: [] };
  });
  for (const method of limited) provider.pace.limited(method);
  return {
    answered: results.flatMap(({ answered }) => answered),
    left: results.flatMap(({ left }) => left),
  };
}

/**
 * Returns the calls that must be sent again. If a call has no attempts left, `last` is its answer.
 */
function retryLater({ name }: Provider, batch: OpenCall[], last: Answer): BatchResult {
  const isSpent = ({ attempts, call }: OpenCall) =>
    attempts + 1 >= attemptsMax || triedOnce.has(call.method);
  const spent = batch.filter(isSpent);
  const silent = spent.find(({ call }) => last === missing && !triedOnce.has(call.method));
  if (silent) throw unanswered(name, silent);
  const left = batch.filter((each) => !isSpent(each));
  return {
    answered: spent.map(({ index }) => ({ index, answer: last })),
    left: left.map((each) => ({ ...each, attempts: each.attempts + 1 })),
  };
}

type Reply = { id: unknown; result: unknown; error: { code: number; message: string } };

const missing: Answer = { error: { code: 0, message: "no answer" } };

/** The rest of a longer error message of a node is ignored, because messages are logged. */
const messageCharactersMax = 2_000;

/** Some gateways return IDs as strings. */
function readId(id: unknown): number | undefined {
  if (typeof id === "number") return id;
  return typeof id === "string" && /^\d{1,9}$/.test(id) ? Number(id) : undefined;
}

function readAnswer(item: Partial<Reply> | null | undefined): Answer | undefined {
  if (item?.error) {
    const { code, message, ...rest } = item.error;
    const shortened = String(message).slice(0, messageCharactersMax);
    return { error: { ...rest, code: Number(code), message: shortened } };
  }
  return item && "result" in item ? { result: item.result } : undefined;
}

const unanswered = (name: string, { call: { method } }: OpenCall) =>
  new ChainUnavailable(`${name} returned no answer to ${method}`);

/** `body` is undefined if the status is not 2xx. */
export type Response = {
  status: number;
  retryAfter: string;
  date: string;
  body: unknown;
};

/**
 * Sends `calls` in one request, with their positions as IDs. Throws if there is no response within
 * `timeoutMs`. To simulate a network, tests replace only this function.
 */
export type Transport = (calls: readonly Call[], timeoutMs: number) => Promise<Response>;

/**
 * Sends the user name and password of `url` in a header (RFC 7617). `fetch` refuses URLs that
 * contain them.
 */
function httpTransport(name: string, url: string): Transport {
  const bare = new URL(url);
  const { username, password } = bare;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = user === ":" ? undefined : `Basic ${Buffer.from(user).toString("base64")}`;
  [bare.username, bare.password] = ["", ""];
  return (calls, timeoutMs) => post({ name, url: bare.href, authorization }, calls, timeoutMs);
}

async function post(
  { name, url, authorization }: { name: string; url: string; authorization: string | undefined },
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
    // Some clocks return fractions of a millisecond, which AbortSignal does not accept.
    signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
  });
  const { status, ok, headers } = response;
  const [retryAfter, date] = [headers.get("retry-after") ?? "", headers.get("date") ?? ""];
  if (ok) return { status, retryAfter, date, body: JSON.parse(await readText(name, response)) };
  await response.body?.cancel();
  return { status, retryAfter, date, body: undefined };
}

/**
 * The maximum size of a response. The responses that the service needs are smaller. Without a
 * limit, a response could use up the memory.
 */
const responseBytesMax = 32 * 2 ** 20;

async function readText(name: string, { body }: globalThis.Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) {
      const wanted = `expected a response of at most ${responseBytesMax} bytes`;
      const message = `${name}: ${wanted}, found at least ${bytes}`;
      throw new ChainUnavailable(message, { isReached: true });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
