// Defines all error responses (spec/service.md §7). A table maps error codes to statuses, and a
// function converts any error to a response.

import { InvalidError, type Issue } from "executable-address";
import { ProofError } from "executable-address/proof";
import {
  count,
  describeLength,
  either,
  list,
  object,
  quoted,
  type TypeOf,
  text,
} from "executable-address/shapes";
import type { FastifyRequest } from "fastify";
import { SignInError } from "../accounts/sign-in/errors.ts";
import { CallsSpent, ChainUnavailable } from "../chain/rpc/json-rpc.ts";
import { recordHeaders } from "../store/record.ts";
import { UnavailableError } from "../store/store.ts";

export const statuses = {
  invalid_request: 400,
  invalid_email: 400,
  invalid_password: 400,
  password_too_short: 400,
  password_too_long: 400,
  password_guessable: 400,
  invalid_token: 400,
  unauthorized: 401,
  invalid_email_or_password: 401,
  api_key_in_browser: 403,
  origin_required: 403,
  origin_not_allowed: 403,
  forbidden: 403,
  scope_required: 403,
  not_signed: 403,
  signup_closed: 403,
  not_found: 404,
  unknown_path: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  reference_in_use: 409,
  user_already_exists: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  service_unavailable: 503,
  chain_unavailable: 503,
  unproved: 503,
} as const;

export type Code = keyof typeof statuses;
type Headers = Record<string, string>;

/** The Content-Type for routes that send JSON as text. For text, Fastify would set `text/plain`. */
export const jsonType = recordHeaders["content-type"];

/** Sent with every response, to prevent browsers from guessing another media type. */
export const noSniff = {
  "x-content-type-options": recordHeaders["x-content-type-options"],
};

/** Sent with responses that are private or can change at any time. */
export const noStore = { "cache-control": "no-store" };

/** Sent with responses that never change. */
export const immutable = { "cache-control": recordHeaders["cache-control"] };

/**
 * Thrown to refuse a request, with the reason. `headers` are sent with the response; their names
 * can be in any letter case.
 */
export class Refusal extends Error {
  override name = "Refusal";
  readonly code: Code;
  readonly issues: Issue[];
  readonly headers: Headers;

  constructor(code: Code, message: string, more: { issues?: Issue[]; headers?: Headers } = {}) {
    super(message);
    this.code = code;
    this.issues = more.issues ?? [];
    this.headers = more.headers ?? {};
  }
}

/**
 * Returns the refusal of a request that may succeed later.
 *
 * @param seconds when to try again
 */
export const unavailable = (
  message: string,
  seconds: number,
  code: "service_unavailable" | "chain_unavailable" | "unproved" = "service_unavailable",
) => new Refusal(code, message, { headers: { "retry-after": String(seconds) } });

/** Returns the value of `Retry-After`: whole seconds, at least 1. */
export const retrySeconds = (retryMs: number) => Math.max(1, Math.ceil(retryMs / 1000));

/** @param digits the address in lowercase, without `0x` */
export const noIntent = (digits: string) =>
  new Refusal("not_found", `no intent is stored for 0x${digits}`);

/** One fault of a request: its location, a code for programs, and a message for developers. */
export const issue = object({
  /**
   * Field names and array indices from the root of the body. `["address"]` is the address in the
   * request's path.
   */
  path: list(either(text, count)),
  /**
   * The kind of fault, as a code that programs can compare. docs/intents.md lists the codes, and
   * new codes can be added.
   *
   * @pattern ^[a-z][a-z0-9_]*$
   */
  code: text,
  /** A message for developers. The wording can change. */
  message: text,
});

/** The reason why a request was rejected. */
export const errorDetails = object({
  /** The kind of error, as a code that programs can compare. New codes can be added. */
  code: text,
  /** A message for developers. The wording can change. */
  message: text,
  /**
   * The faults of the request, if the error is about specific fields; otherwise empty.
   *
   * @maxItems issuesPerResponseMax
   */
  issues: list(issue),
});

/** The body of every error response. */
export const errorBody = object({ error: errorDetails });

/**
 * `headers` contains all headers except the CORS headers. `body` is the JSON text. `isFault` is
 * true for a fault of the service, its database, or a node. The caller must log a fault, because
 * the response may omit its cause. A 503 response that states its reason, such as overload, is not
 * a fault.
 */
type ErrorAnswer = { status: number; headers: Headers; body: string; isFault: boolean };

export const issuesPerResponseMax = 20;

/**
 * Converts an error to a response. Some messages quote `request`, which is undefined for a request
 * that could not be parsed.
 */
export function toAnswer(error: unknown, request?: FastifyRequest): ErrorAnswer {
  const refusal = toRefusal(error, request);
  const { code, message } = refusal;
  const issues = refusal.issues.slice(0, issuesPerResponseMax);
  const status = statuses[code];
  const body: TypeOf<typeof errorBody> = { error: { code, message, issues } };
  return {
    status,
    headers: { "content-type": jsonType, ...noStore, ...noSniff, ...refusal.headers },
    body: JSON.stringify(body),
    isFault: status >= 500 && !isAnswer(error),
  };
}

export function toRefusal(error: unknown, request?: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof SignInError) return new Refusal(error.code, error.message);
  if (error instanceof InvalidError) return fromIssues(error.issues);
  if (error instanceof UnavailableError) {
    return unavailable("the database is not available; try again", 1);
  }
  if (error instanceof CallsSpent) {
    const seconds = retrySeconds(error.retryMs);
    const message = `${error.message}, for all clients together; try again in ${seconds} s`;
    return unavailable(message, seconds);
  }
  // The response does not quote the error, because a node's error can contain the node's host name.
  if (error instanceof ChainUnavailable) {
    return unavailable("the chain cannot be read right now; try again", 2, "chain_unavailable");
  }
  if (error instanceof ProofError) return unproved(error);
  const framework = frameworkRefusals[(error as { code?: string } | undefined)?.code ?? ""];
  if (framework) return new Refusal(...framework(request));
  return new Refusal("internal_error", "an internal error occurred and was logged");
}

/**
 * Returns whether `error` is about the client's request, such as a request for a proof at an
 * unknown block, or about a limit of this service. A ProofError has a `cause` if a node's answer
 * caused the error.
 */
const isAnswer = (error: unknown): boolean =>
  error instanceof Refusal ||
  error instanceof CallsSpent ||
  (error instanceof ProofError && error.cause === undefined);

/**
 * Returns whether the library wrote the whole message. Otherwise, the message may quote a node's
 * message, which can contain the node's host name.
 */
const isFromLibrary = ({ cause }: ProofError): boolean =>
  cause instanceof ProofError ? isFromLibrary(cause) : !(cause instanceof Error);

/** Returns the refusal for a proof that could not be created. */
function unproved(error: ProofError): Refusal {
  const reason = isFromLibrary(error)
    ? error.message
    : "no RPC endpoint returned a proof at this block";
  return unavailable(`no valid proof is available: ${reason}`, 2, "unproved");
}

function fromIssues(issues: Issue[]): Refusal {
  const first = issues[0];
  const where = first?.path.length ? `${first.path.join(".")}: ` : "";
  const rest = issues.length > 1 ? ` (and ${issues.length - 1} more, see issues)` : "";
  return new Refusal("invalid_request", `${where}${first?.message ?? "not valid"}${rest}`, {
    issues,
  });
}

/**
 * Maps error codes of Fastify and Node to refusals. These errors occur before a route is called.
 */
const frameworkRefusals: Record<string, (request?: FastifyRequest) => [Code, string]> = {
  FST_ERR_BAD_URL: (request) => [
    "invalid_request",
    `the path: expected percent-encoded UTF-8, found ${foundText(request?.url)}`,
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: (request) => [
    "body_too_large",
    `the body: expected at most ${request?.routeOptions.bodyLimit} bytes, ` +
      `found ${request?.headers["content-length"] ?? "more"}`,
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) => [
    "unsupported_media_type",
    `expected Content-Type: application/json, found ${foundText(request?.headers["content-type"])}`,
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: (request) => [
    "invalid_request",
    `expected a body of ${request?.headers["content-length"]} bytes, as Content-Length states`,
  ],
};

/**
 * Returns the refusal of a request that has no body, although its route expects an intent. This
 * refusal applies only if there is no Content-Type. Otherwise, the framework calls the body parser
 * and reports the parser's error.
 */
export function missingBody(): Refusal {
  const wanted = "expected Content-Type: application/json and an intent as the body";
  return new Refusal("unsupported_media_type", `${wanted}, found neither`);
}

/**
 * Describes a client's input for an error message. Quotes short printable ASCII text, and gives
 * only the length of other text. Must not be used for text that may be secret.
 */
export function foundText(text: unknown): string {
  if (typeof text !== "string") return text === undefined ? "nothing" : "several";
  return quoted(text) ?? describeLength(text);
}

/** Returns the part of an error message that describes a request's `Origin` headers. */
export const foundOrigin = (origins: readonly string[]) =>
  origins.length === 1 ? foundText(origins[0]) : `${origins.length || "no"} Origin headers`;
