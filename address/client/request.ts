// One request to the service: waits its turn when it is told to, reads no more than it should, and
// turns a refusal into an error with the service's own code.

import type { Issue } from "../errors.ts";

/** The service refused, or answered something that is no answer of it (`unexpected_answer`). */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  /** HTTP status. */
  readonly status: number;
  /** As spec §7 has them, such as `rate_limited`. */
  readonly code: string;
  readonly issues: readonly Issue[];
  /** Seconds the service asked to wait, if it did. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, refusal: Refusal, retryAfterSeconds?: number) {
    super(`${refusal.code}: ${refusal.message}`);
    this.status = status;
    this.code = refusal.code;
    this.issues = refusal.issues;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
type Refusal = { code: string; message: string; issues: readonly Issue[] };

export type Transport = {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly retriesMax: number;
  readonly waitSecondsMax: number;
};

export type Request = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
};

/** A record is at most some 60 kB; a chain list or a status less. */
const answerBytesMax = 4 * 1024 * 1024;

/**
 * The JSON of a success. 429, and 503 with `Retry-After`, are tried again after the time they name.
 *
 * @throws {ServiceError}, or what `fetch` throws, or the signal's reason
 */
export async function send(transport: Transport, request: Request): Promise<unknown> {
  for (let retries = 0; ; retries++) {
    const { signal } = request;
    const response = await transport.fetch(transport.baseUrl + request.path, {
      method: request.method,
      headers: { Accept: "application/json", ...request.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
      ...(signal ? { signal } : {}),
      // A redirect would carry the credential to wherever it points.
      redirect: "error",
      credentials: "omit",
    });
    const answer = parseJson(await readText(response));
    if (response.ok && answer !== undefined) return answer;
    const error = errorOf(response, answer);
    const wait = error.retryAfterSeconds;
    const isBusy = response.status === 429 || response.status === 503;
    const isOver = retries >= transport.retriesMax || wait === undefined;
    if (!isBusy || isOver || wait > transport.waitSecondsMax) throw error;
    await sleep(wait * 1000, signal);
  }
}

async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > answerBytesMax) {
      await reader.cancel();
      return "";
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorOf(response: Response, answer: unknown): ServiceError {
  const { error } = (answer ?? {}) as { error?: Partial<Refusal> };
  const wait = /^[0-9]{1,9}$/.exec(response.headers.get("Retry-After") ?? "");
  const isOurs = typeof error?.code === "string" && typeof error.message === "string";
  const refusal = isOurs
    ? { code: error.code!, message: error.message!, issues: listOf(error.issues) }
    : {
        code: "unexpected_answer",
        message: `HTTP ${response.status}, not as specified`,
        issues: [],
      };
  return new ServiceError(response.status, refusal, wait ? Number(wait[0]) : undefined);
}

const listOf = (issues: unknown): readonly Issue[] => (Array.isArray(issues) ? issues : []);

function sleep(millis: number, signal: AbortSignal | undefined): Promise<void> {
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
