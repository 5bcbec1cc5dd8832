// One request to the service: tried again where that can help, waiting as it is told to, for a
// bounded time; reads no more than it should, and turns a refusal into an error with the service's
// own code. Everything the service does may be repeated: a create names its salt.

import type { Issue } from "../errors.ts";
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

/** One attempt to send a request. No hook sees a credential. */
export type RequestInfo = {
  readonly method: Request["method"];
  readonly url: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
};

/** The response to one attempt, of any status. */
export type ResponseInfo = RequestInfo & {
  readonly status: number;
  /** The service's `X-Request-Id`, for its operator to find the request. */
  readonly requestId: string | undefined;
  readonly headers: HttpHeaders;
  /** From the request to the response's headers. */
  readonly elapsedMs: number;
};

export type Transport = {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly retriesMax: number;
  readonly waitSecondsMax: number;
  /** The time of one attempt, from asking to the last byte. */
  readonly timeoutMs: number;
  /** The time of all attempts of a call, and of the waits between them. */
  readonly deadlineMs?: number | undefined;
  /** When that time is over, by `performance.now()`. */
  readonly endsAtMs?: number;
  /** Sent with every request, by names in lower case. */
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

/** A record is at most some 60 kB; a chain list or a status less. */
const answerBytesMax = 4 * 1024 * 1024;
const firstBackoffMs = 250;

/**
 * The JSON of a success. Tried again: 429 that names a time, 503 after the time it names, and what
 * may pass by itself (no connection, a broken answer, a timeout, 502, 503, 504) after 0.25 s, 0.5
 * s, 1 s …
 *
 * @throws {ServiceError}, {NetworkError}, or the signal's reason
 */
export async function send(transport: Transport, request: Request): Promise<unknown> {
  for (let retries = 0; ; retries++) {
    try {
      return await attempt(transport, request, retries + 1);
    } catch (error) {
      const waitMs = error instanceof ClientError ? waitMsOf(error, retries) : undefined;
      const isOver = retries >= transport.retriesMax || waitMs === undefined;
      if (isOver || waitMs > transport.waitSecondsMax * 1000) throw error;
      if (performance.now() + waitMs >= (transport.endsAtMs ?? Infinity)) throw error;
      await sleep(waitMs, request.signal);
    }
  }
}

/** How long to wait before another attempt; undefined where none would help. */
function waitMsOf(error: ClientError, retries: number): number | undefined {
  const backoff = backoffMs(retries);
  if (error instanceof NetworkError) return error.kind === "redirected" ? undefined : backoff;
  if (!(error instanceof ServiceError)) return undefined;
  const { retryAfterSeconds: wait, status } = error;
  if (wait !== undefined && (status === 429 || status === 503)) return wait * 1000;
  return status === 502 || status === 503 || status === 504 ? backoff : undefined;
}

/** Doubling, up to 8 s, less up to a half by chance, so that many do not come back together. */
export const backoffMs = (retries: number): number =>
  firstBackoffMs * 2 ** Math.min(retries, 5) * (1 - Math.random() / 2);

async function attempt(transport: Transport, request: Request, number: number): Promise<unknown> {
  const deadline = startDeadline(transport.timeoutMs, request.signal);
  let response: HttpResponse | undefined;
  try {
    response = await fetchOnce(transport, request, deadline.signal, number);
    const answer = parseJson(await readText(response));
    if (response.ok && answer !== undefined) return answer;
    throw errorOf(response, answer);
  } catch (error) {
    throw withRequestId(deadline.explain(error, response !== undefined), response);
  } finally {
    deadline.end();
  }
}

/** @throws {NetworkError} `redirected`, or what `fetch` throws */
export async function fetchOnce(
  transport: Transport,
  request: Request,
  signal: Signal,
  number = 1,
): Promise<HttpResponse> {
  const url = transport.baseUrl + request.path;
  const asked = { method: request.method, url, attempt: number };
  notify(transport.onRequest, asked);
  const startedAt = performance.now();
  const response = await transport.fetch(url, {
    method: request.method,
    headers: { Accept: "application/json", ...transport.headers, ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    signal,
    // A redirect would carry the credential to wherever it points.
    redirect: "manual",
    // Pages send cookies to their own origin; not every runtime knows the field.
    ...("credentials" in globalThis.Request.prototype ? { credentials: "omit" } : {}),
  });
  const { status, type, headers } = response;
  const elapsedMs = performance.now() - startedAt;
  const requestId = readRequestId(response);
  notify(transport.onResponse, { ...asked, status, requestId, headers, elapsedMs });
  if (type !== "opaqueredirect" && (status < 300 || status > 399)) return response;
  discard(response);
  throw new NetworkError("redirected", `the service redirects ${request.method} ${request.path}`);
}

/** Calls a hook, whose exceptions are ignored: a log that fails must not fail a payment. */
function notify<Info>(hook: ((info: Info) => void) | undefined, info: Info): void {
  try {
    hook?.(info);
  } catch {}
}

/** Bounds an attempt by a time, and by the caller's signal. */
export function startDeadline(timeoutMs: number, caller: Signal | undefined) {
  const late = (ms: number) => new NetworkError("timeout", `no whole answer within ${ms} ms`);
  const bound = startBound(caller, timeoutMs, late);
  return {
    ...bound,
    /** Why an attempt failed: the caller's reason, or a {@link ClientError}. */
    explain(error: unknown, hasAnswer: boolean): unknown {
      if (error instanceof ClientError) return error;
      if (caller?.aborted) return caller.reason;
      if (bound.signal.reason instanceof NetworkError) return bound.signal.reason;
      const [kind, message] = hasAnswer
        ? (["interrupted", "the answer broke off"] as const)
        : (["unreachable", "the service cannot be reached"] as const);
      return new NetworkError(kind, message, { cause: error });
    },
  };
}

/**
 * Waits for a part of the library that is loaded when it is needed.
 *
 * @throws {NetworkError} `unreachable` if a page cannot load it
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

/** The body, or no text where it is longer than any answer. */
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

/** Writes `?name=value&…` of the fields that are defined, a `Date` as ISO 8601. */
export function writeQuery(query: Readonly<Record<string, QueryValue>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = value instanceof Date ? value.toISOString() : String(value);
    return [`${name}=${encodeURIComponent(text)}`];
  });
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function errorOf(response: HttpResponse, answer: unknown): ServiceError {
  const { status, headers } = response;
  const hint = status === 404 ? "; does baseUrl end in /v1?" : "";
  const refusal = refusalOf((answer as { error?: unknown } | null | undefined)?.error);
  return new ServiceError(
    status,
    refusal ?? {
      code: "unexpected_answer",
      message: `HTTP ${status}, not as specified${hint}`,
      issues: [],
    },
    readRetryAfterSeconds(headers.get("Retry-After") ?? "", headers.get("Date") ?? ""),
  );
}

const messageLengthMax = 2000;
const issuesMax = 100;

/** Reads what the service says is wrong, as far as it has the form: spec §7. */
function refusalOf(error: unknown): Refusal | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, message, issues } = error as Record<string, unknown>;
  if (typeof code !== "string" || !/^[a-z0-9_]{1,64}$/.test(code)) return undefined;
  if (typeof message !== "string") return undefined;
  const list = Array.isArray(issues) ? issues.slice(0, issuesMax) : [];
  return { code, message: message.slice(0, messageLengthMax), issues: list.filter(isIssue) };
}

function isIssue(value: unknown): value is Issue {
  if (typeof value !== "object" || value === null) return false;
  const { path, code, message } = value as Record<string, unknown>;
  const isStep = (step: unknown) =>
    typeof step === "number" || (typeof step === "string" && step.length <= messageLengthMax);
  if (!Array.isArray(path) || path.length > 64 || !path.every(isStep)) return false;
  if (typeof code !== "string" || code.length > 64 || typeof message !== "string") return false;
  return message.length <= messageLengthMax;
}

/**
 * Reads a `Retry-After` header: seconds, or those until a date by the server's own clock where it
 * tells it.
 *
 * @param date the answer's `Date` header
 * @returns undefined for any other text
 */
export function readRetryAfterSeconds(text: string, date: string): number | undefined {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const untilMs = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const saidMs = Date.parse(date);
  const nowMs = Number.isNaN(saidMs) ? Date.now() : saidMs;
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
