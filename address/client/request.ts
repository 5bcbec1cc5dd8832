// Sends a request to the service. Retries the request, obeys `Retry-After`, and limits the time and
// the size of the response. Converts a refusal to an error with the service's code. A retried
// create request returns the same address, because the request determines the salt. Requests that
// are not safe to repeat are not retried (account.ts).

import { type Issue, issuesMax } from "../errors.ts";
import { ClientError, NetworkError, type Refusal, ServiceError } from "./errors.ts";
import { type Found, type Signal, startBound } from "./within.ts";

export type { Signal } from "./within.ts";

type HttpHeaders = Found<"Headers", { get(name: string): string | null }>;
export type HttpResponse = Found<
  "Response",
  { readonly ok: boolean; readonly status: number; readonly headers: HttpHeaders }
>;
export type Fetch = typeof globalThis extends { readonly fetch: infer Platform }
  ? Platform
  : (url: string, init: object) => Promise<HttpResponse>;

/** One attempt to send a request. Hooks never receive credentials. */
export type RequestInfo = {
  readonly method: Request["method"];
  readonly url: string;
  /** The number of the attempt, starting at 1. */
  readonly attempt: number;
};

/** The response to one attempt, with any status. */
export type ResponseInfo = RequestInfo & {
  readonly status: number;
  /** The service's `X-Request-Id`, with which its operator finds the request. */
  readonly requestId: string | undefined;
  readonly headers: HttpHeaders;
  /** The time from the request until the response's headers arrived. */
  readonly elapsedMs: number;
};

export type Transport = {
  /** The base URL without a trailing slash. */
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly retriesMax: number;
  readonly waitSecondsMax: number;
  /** The maximum time of one attempt, until the last byte of the response. */
  readonly timeoutMs: number;
  /** The maximum total time of a call, including retries and delays. */
  readonly deadlineMs?: number | undefined;
  /** The time at which the call's `deadlineMs` ends, by `performance.now()`. */
  readonly endsAtMs?: number;
  /** Headers that are sent with every request, with names in lowercase. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly onRequest?: ((request: RequestInfo) => void) | undefined;
  readonly onResponse?: ((response: ResponseInfo) => void) | undefined;
};

export type Request = {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: Signal | undefined;
};

/** The largest answer is a page of a list. A record has at most about 60 kB. */
const answerBytesMax = 4 * 1024 * 1024;
const firstBackoffMs = 250;

/**
 * Sends a request and returns the JSON of a successful response. If a 429 or 503 response has a
 * `Retry-After` header, retries after that delay. Retries network errors, timeouts, and 502, 503,
 * and 504 responses after about 0.25 s, 0.5 s, 1 s, and so on. Does not retry redirected requests.
 *
 * @throws {ServiceError}, {NetworkError}, or the signal's reason
 */
export async function send(transport: Transport, request: Request): Promise<unknown> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt(transport, request, retries + 1);
    } catch (error) {
      const waitMs = error instanceof ClientError ? chooseWaitMs(error, retries) : undefined;
      const isOver = retries >= transport.retriesMax || waitMs === undefined;
      if (isOver || waitMs > transport.waitSecondsMax * 1000) throw error;
      if (performance.now() + waitMs >= (transport.endsAtMs ?? Infinity)) throw error;
      await sleep(waitMs, request.signal);
    }
  }
}

/** Chooses the delay before the next attempt. Returns undefined if a retry would not help. */
function chooseWaitMs(error: ClientError, retries: number): number | undefined {
  const backoff = backoffMs(retries);
  if (error instanceof NetworkError) return error.kind === "redirected" ? undefined : backoff;
  if (!(error instanceof ServiceError)) return undefined;
  const { retryAfterSeconds: wait, status } = error;
  if (wait !== undefined && (status === 429 || status === 503)) return wait * 1000;
  return status === 502 || status === 503 || status === 504 ? backoff : undefined;
}

/**
 * Returns a delay that doubles with each retry, up to 8 s. Random jitter prevents many clients from
 * retrying simultaneously.
 */
export const backoffMs = (retries: number): number =>
  firstBackoffMs * 2 ** Math.min(retries, 5) * (1 - Math.random() / 2);

async function attempt(transport: Transport, request: Request, number: number): Promise<unknown> {
  const deadline = startDeadline(transport.timeoutMs, request);
  let response: HttpResponse | undefined;
  try {
    response = await fetchOnce(transport, request, deadline.signal, number);
    const answer = readJson(await readText(response));
    if (response.ok && answer !== undefined) return answer;
    throw toError(request, response, answer);
  } catch (error) {
    throw withRequestId(deadline.explain(error, response !== undefined), response);
  } finally {
    deadline.end();
  }
}

/** @throws {NetworkError} `redirected`, and the errors of `fetch` */
export async function fetchOnce(
  transport: Transport,
  request: Request,
  signal: Signal,
  number = 1,
): Promise<HttpResponse> {
  const url = transport.baseUrl + request.path;
  const info = { method: request.method, url, attempt: number };
  notify(transport.onRequest, info);
  const startedAtMs = performance.now();
  const response = await transport.fetch(url, {
    method: request.method,
    headers: { Accept: "application/json", ...transport.headers, ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal,
    // Following a redirect would send the credential to another URL.
    redirect: "manual",
    // Without this field, a browser would send cookies to a service on the page's own origin. Some
    // runtimes do not support the field.
    ...("credentials" in globalThis.Request.prototype ? { credentials: "omit" } : {}),
  });
  const { status, type, headers } = response;
  const elapsedMs = performance.now() - startedAtMs;
  const requestId = readRequestId(response);
  notify(transport.onResponse, { ...info, status, requestId, headers, elapsedMs });
  if (type !== "opaqueredirect" && (status < 300 || status > 399)) return response;
  discard(response);
  throw new NetworkError("redirected", `${placeOf(request)}: the service redirects this request`);
}

/** Calls a hook and ignores its exceptions. A logging error must not fail a payment. */
function notify<Info>(hook: ((info: Info) => void) | undefined, info: Info): void {
  try {
    hook?.(info);
  } catch {}
}

/** Names a request in error messages. */
const placeOf = ({ method, path }: Request): string => `${method} ${path}`;

/** Starts a signal that aborts an attempt after a timeout, or when the caller's signal aborts. */
export function startDeadline(timeoutMs: number, request: Request) {
  const { signal: caller } = request;
  const late = (ms: number) =>
    new NetworkError("timeout", `${placeOf(request)}: no complete response within ${ms} ms`);
  const bound = startBound(caller, timeoutMs, late);
  return {
    ...bound,
    /**
     * Returns the error to throw after a failed attempt. If the caller aborted, this error is the
     * reason of the caller's signal.
     */
    explain(error: unknown, hasAnswer: boolean): unknown {
      if (error instanceof ClientError) return error;
      if (caller?.aborted) return caller.reason;
      if (bound.signal.reason instanceof NetworkError) return bound.signal.reason;
      const [kind, what] = hasAnswer
        ? (["interrupted", "the response was interrupted"] as const)
        : (["unreachable", "no response arrived from the service"] as const);
      return new NetworkError(kind, `${placeOf(request)}: ${what}`, { cause: error });
    },
  };
}

/**
 * Loads a part of the library that only some calls need.
 *
 * @throws {NetworkError} `unreachable` if the code cannot be loaded, for example because a page is
 *   offline
 */
export async function loadCode<Code>(code: Promise<Code>): Promise<Code> {
  return code.catch((cause) => {
    throw new NetworkError("unreachable", "a part of the library cannot be loaded", { cause });
  });
}

export function withRequestId(error: unknown, response: HttpResponse | undefined): unknown {
  const id = response && readRequestId(response);
  if (error instanceof ClientError && id) error.requestId = id;
  return error;
}

function readRequestId({ headers }: HttpResponse): string | undefined {
  const id = headers.get("X-Request-Id");
  return id && /^[!-~]{1,200}$/.test(id) ? id : undefined;
}

function discard(response: HttpResponse): void {
  response.body?.cancel().catch(() => {});
}

/** Reads the body. Returns an empty text if the body is longer than any valid answer. */
export async function readText(response: HttpResponse): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > answerBytesMax) {
      reader.cancel().catch(() => {});
      return "";
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

type QueryValue = string | number | bigint | Date | undefined;

/** Encodes the defined fields as `?name=value&…`, and a `Date` as ISO 8601. */
export function writeQuery(query: Readonly<Record<string, QueryValue>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = value instanceof Date ? value.toISOString() : String(value);
    return [`${name}=${encodeURIComponent(text)}`];
  });
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts a response that is not a success to an error. */
export function toError(request: Request, response: HttpResponse, answer: unknown): ServiceError {
  const { status, headers } = response;
  const hint = status === 404 ? "; check that baseUrl ends in /v1" : "";
  const refusal = readRefusal((answer as { error?: unknown } | null | undefined)?.error);
  return new ServiceError(
    status,
    refusal ?? {
      code: "unexpected_answer",
      message: `${placeOf(request)}: unknown response with status ${status}${hint}`,
      issues: [],
    },
    readRetryAfterSeconds(headers.get("Retry-After") ?? "", headers.get("Date") ?? ""),
  );
}

const messageLengthMax = 2000;

/** Reads the error of a refusal (spec §7). Ignores malformed issues. */
function readRefusal(error: unknown): Refusal | undefined {
  const { code, message, issues } = (error ?? {}) as Record<string, unknown>;
  if (!isText(code, 64) || !/^[a-z0-9_]+$/.test(code) || typeof message !== "string")
    return undefined;
  const list = Array.isArray(issues) ? issues.slice(0, issuesMax) : [];
  return { code, message: message.slice(0, messageLengthMax), issues: list.filter(isIssue) };
}

const isText = (value: unknown, lengthMax = messageLengthMax): value is string =>
  typeof value === "string" && value.length <= lengthMax;

function isIssue(value: unknown): value is Issue {
  const { path, code, message } = (value ?? {}) as Record<string, unknown>;
  const isStep = (step: unknown) => typeof step === "number" || isText(step);
  const isPath = Array.isArray(path) && path.length <= 64 && path.every(isStep);
  return isPath && isText(code, 64) && isText(message);
}

/**
 * Reads a `Retry-After` header: a delay in seconds or an HTTP date. The date is compared with the
 * response's `Date`.
 *
 * @param date the response's `Date` header
 * @returns undefined for any other text
 */
export function readRetryAfterSeconds(text: string, date: string): number | undefined {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const untilMs = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const serverMs = Date.parse(date);
  const nowMs = Number.isNaN(serverMs) ? Date.now() : serverMs;
  return Math.max(0, Math.ceil((untilMs - nowMs) / 1000));
}

/** @throws the signal's reason */
export function sleep(millis: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, millis);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
