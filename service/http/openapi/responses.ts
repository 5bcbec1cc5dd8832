// The refusals and headers that operations share. ../errors.ts defines the status of each error
// code.

import { maxHeaderSize } from "node:http";
import { dailyCreates, describePolicy, policies } from "../../accounts/policies.ts";
import { type Code, errorBody, immutable, noSniff, noStore, statuses } from "../errors.ts";
import { headersMax } from "../headers.ts";
import type { Schema } from "./comments.ts";
import { describeShape } from "./schemas.ts";

type Header = { description?: string; required?: true; schema: Schema };
const exactly = (value: string): Schema => ({ type: "string", const: value });
const like = (pattern: string): Schema => ({ type: "string", pattern });

const limitNames = [...Object.values(policies).map(({ name }) => name), dailyCreates].join("|");
const policy = like(`^"(${limitNames})";q=[0-9]+;w=[0-9]+$`);
const limit = like(`^"(${limitNames})";r=[0-9]+;t=[0-9]+$`);

export const headers = {
  RequestId: {
    description: "Identifies the request in the server's log.",
    required: true,
    schema: like("^[0-9a-f]{12}-[0-9a-z]+$"),
  },
  AllowOrigin: {
    description: "Every web page can read the response.",
    required: true,
    schema: exactly("*"),
  },
  ExposeHeaders: {
    description: "The response headers that the script of a web page can read.",
    required: true,
    schema: { type: "string" },
  },
  NoSniff: { required: true, schema: exactly(noSniff["x-content-type-options"]) },
  NoBuffering: {
    description: "Tells proxies to forward each event immediately.",
    required: true,
    schema: exactly("no"),
  },
  NoStore: { required: true, schema: exactly(noStore["cache-control"]) },
  Immutable: {
    description:
      "The response can be cached forever, because the intent of an address never changes.",
    required: true,
    schema: exactly(immutable["cache-control"]),
  },
  MinuteOld: {
    description: "The response can be cached for one minute.",
    required: true,
    schema: exactly("public, max-age=60"),
  },
  // A proof remains valid, but a block tag or number may later refer to another block.
  Briefly: {
    description: "The response can be cached for two seconds.",
    required: true,
    schema: exactly("public, max-age=2"),
  },
  ETag: {
    description: "A strong ETag: the response with this ETag always has the same bytes.",
    required: true,
    schema: like('^"[A-Za-z0-9_-]+"$'),
  },
  RetryAfter: {
    description: "The number of seconds to wait before you try again, at least 1.",
    required: true,
    schema: like("^[1-9][0-9]*$"),
  },
  RateLimitPolicy: {
    description:
      "The rate limit that counted the request: up to `q` requests in a burst. After `w` " +
      "seconds without requests, a full burst is available again.",
    required: true,
    schema: policy,
  },
  RateLimit: {
    description:
      "The number of requests that remain now (`r`), and the seconds until the full burst is " +
      "available (`t`).",
    required: true,
    schema: limit,
  },
  WwwAuthenticate: { required: true, schema: like("^Bearer ") },
  RateLimitPolicyIfKnown: {
    description: "Present if the request had a valid credential and was counted.",
    schema: policy,
  },
  RateLimitIfKnown: {
    description: "Present if the request had a valid credential and was counted.",
    schema: limit,
  },
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** Returns the value of a header that has the same value in every response. */
export function constantOf(name: HeaderName): string {
  const { const: value } = headers[name].schema as { const?: string };
  if (value === undefined) throw new Error(`${name} has no constant value`);
  return value;
}

/** The headers of a response, by HTTP name. */
export type Headers = Readonly<Record<string, HeaderName>>;

/** The headers of the responses to all requests that can be parsed. */
export const everywhere: Headers = {
  "X-Request-Id": "RequestId",
  "Access-Control-Allow-Origin": "AllowOrigin",
  "Access-Control-Expose-Headers": "ExposeHeaders",
  "X-Content-Type-Options": "NoSniff",
};
const { "X-Request-Id": _, ...beforeRequests } = everywhere;
const refused: Headers = { ...everywhere, "Cache-Control": "NoStore" };
export const counted: Headers = { "RateLimit-Policy": "RateLimitPolicy", RateLimit: "RateLimit" };
const countedIfKnown: Headers = {
  "RateLimit-Policy": "RateLimitPolicyIfKnown",
  RateLimit: "RateLimitIfKnown",
};

export const referTo = (headers: Headers): Schema =>
  Object.fromEntries(
    Object.entries(headers).map(([name, header]) => [
      name,
      { $ref: `#/components/headers/${header}` },
    ]),
  );

type Answer = { codes: readonly Code[]; description: string; headers: Headers };
const known: Headers = { ...refused, ...countedIfKnown };

const refusals = {
  InvalidRequest: {
    codes: ["invalid_request"],
    description:
      "The body, the path, the query, or a header is invalid, or the request has more than one " +
      "credential. `issues` lists each fault and what would be valid.",
    headers: known,
  },
  InvalidAddress: {
    codes: ["invalid_request"],
    description:
      "The address in the path is not `0x` and 40 hex characters, or the query is invalid.",
    headers: refused,
  },
  Unauthorized: {
    codes: ["unauthorized"],
    description: "The credential is missing or unknown.",
    headers: { ...refused, "WWW-Authenticate": "WwwAuthenticate" },
  },
  Forbidden: {
    codes: [
      "api_key_in_browser",
      "origin_required",
      "origin_not_allowed",
      "scope_required",
      "not_signed",
      "forbidden",
    ],
    description:
      "`api_key_in_browser`: the request has an API key and an `Origin` header. " +
      "`origin_required`: the request has a client ID but no `Origin` header. " +
      "`origin_not_allowed`: the account does not allow this origin. `scope_required`: the API " +
      "key does not have the scope `create`. `not_signed`: the signature is invalid, or it is " +
      "missing and the client ID accepts only signed intents. `forbidden`: the account does not " +
      "accept references from client IDs.",
    headers: refused,
  },
  KeyOnly: {
    codes: [
      "api_key_in_browser",
      "origin_required",
      "origin_not_allowed",
      "forbidden",
      "scope_required",
    ],
    description:
      "`forbidden`: the request has a client ID, and this operation requires an API key. " +
      "`scope_required`: the API key does not have the scope that the message names. " +
      "`api_key_in_browser`, `origin_required`, and `origin_not_allowed`: the credential cannot " +
      "be used from this origin.",
    headers: known,
  },
  NotFound: {
    codes: ["not_found"],
    description:
      "The service does not know an intent for this address. The address may be an ordinary " +
      "account, or somebody derived it without this service.",
    headers: refused,
  },
  BodyTooLarge: {
    codes: ["body_too_large"],
    description: "The body has more bytes than the operation accepts.",
    headers: known,
  },
  UnsupportedMediaType: {
    codes: ["unsupported_media_type"],
    description: "The media type is not `application/json` in UTF-8, or the body is compressed.",
    headers: known,
  },
  RateLimited: {
    codes: ["rate_limited"],
    description:
      "The credential has exceeded its rate limit. An API key can make " +
      `${describePolicy(policies.apiKey)} (webhook operations: ` +
      `${describePolicy(policies.webhooks)}). A client ID can make ` +
      `${describePolicy(policies.clientId)}.`,
    headers: { ...refused, ...counted, "Retry-After": "RetryAfter" },
  },
  ClientLimited: {
    codes: ["rate_limited"],
    description: "The client's network has exceeded the rate limit of this operation.",
    headers: { ...refused, ...counted, "Retry-After": "RetryAfter" },
  },
  HeadersTooLarge: {
    codes: ["headers_too_large"],
    description: `The request has more than ${headersMax} headers.`,
    headers: refused,
  },
  InternalError: {
    codes: ["internal_error"],
    description: "An internal error, which the service logs with the request's ID.",
    headers: known,
  },
  Unavailable: {
    codes: ["service_unavailable"],
    description: "Too many requests are in progress, or the database is not available. Try again.",
    headers: { ...known, "Retry-After": "RetryAfter" },
  },
  ChainUnavailable: {
    codes: ["chain_unavailable", "unproved", "service_unavailable"],
    description:
      "`chain_unavailable`: the chain cannot be read now. `unproved`: no RPC endpoint returned a " +
      "proof that verifies (only for proofs). `service_unavailable`: too many requests are in " +
      "progress, or a limit that all clients share is used up.",
    headers: { ...refused, "Retry-After": "RetryAfter" },
  },
  CheckUnavailable: {
    codes: ["chain_unavailable", "service_unavailable"],
    description:
      "`chain_unavailable`: the chain cannot be read now. `service_unavailable`: too many " +
      "requests are in progress, a limit that all clients share is used up, or the database is " +
      "not available.",
    headers: { ...known, "Retry-After": "RetryAfter" },
  },
  NoRoom: {
    codes: ["service_unavailable"],
    description: "The server has too many open streams or is shutting down. Try again.",
    headers: { ...refused, "Retry-After": "RetryAfter" },
  },
  ReferenceInUse: {
    codes: ["reference_in_use"],
    description:
      "Either another address of the account already has this reference, or a client ID tried " +
      "to set the reference of an existing address. In the first case, the message of the only " +
      "issue in `issues` is the other address. In the second case, `issues` is empty.",
    headers: known,
  },
  NoneOfYours: {
    codes: ["not_found"],
    description: "The account has no address, event, or endpoint with this ID.",
    headers: known,
  },
  NotActive: {
    codes: ["conflict"],
    description: "The endpoint is paused or disabled. Resume it first.",
    headers: known,
  },
} as const satisfies Record<string, Answer>;

export type RefusalName = keyof typeof refusals;

export const statusOf = (name: RefusalName) => String(statuses[refusals[name].codes[0]]);

/** The refusals of requests that do not reach an operation. */
const unowned: Record<string, Answer> = {
  UnknownPath: {
    codes: ["unknown_path"],
    description: "The path does not exist.",
    headers: refused,
  },
  MethodNotAllowed: {
    codes: ["method_not_allowed"],
    description: "The path does not accept this method.",
    headers: refused,
  },
  RequestTimeout: {
    codes: ["request_timeout"],
    description: "The request did not arrive in time.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  NotHttp: {
    codes: ["invalid_request"],
    description: "The server could not parse the request as HTTP/1.1.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  HeadersOverflow: {
    codes: ["headers_too_large"],
    description: `The headers have more than ${maxHeaderSize / 1024} KiB.`,
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  ExpectationFailed: {
    codes: ["expectation_failed"],
    description: "The `Expect` header is not `100-continue`.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
};

const allow = {
  description: "The methods that this path accepts.",
  required: true,
  schema: { type: "string" },
};

/**
 * Describes the responses that belong to no operation. The responses are in `x-responses`, because
 * a linter would report them as unused in `components`.
 */
export function describeUnowned(): Schema {
  const described = Object.entries(unowned).map(([name, answer]) => [
    name,
    describeRefusal(answer),
  ]);
  const { MethodNotAllowed, ...others } = Object.fromEntries(described);
  return {
    ...others,
    MethodNotAllowed: {
      ...MethodNotAllowed,
      headers: { ...MethodNotAllowed.headers, Allow: allow },
    },
    Preflight: {
      description: "The response to a CORS preflight request, on every path.",
      headers: {
        ...referTo(everywhere),
        Allow: allow,
        "Access-Control-Allow-Methods": allow,
        "Access-Control-Allow-Headers": {
          required: true,
          schema: like("^Authorization, Content-Type, X-Client-Id"),
        },
        "Access-Control-Max-Age": {
          description: "The number of seconds for which a browser can cache this response.",
          required: true,
          schema: like("^[0-9]+$"),
        },
      },
    },
  };
}

export const describeRefusals = (): Schema =>
  Object.fromEntries(
    Object.entries(refusals).map(([name, answer]) => [name, describeRefusal(answer)]),
  );

/** Describes an error response that contains one of the refusal's error codes. */
function describeRefusal({ codes, description, headers }: Answer) {
  const code = codes.length === 1 ? { const: codes[0] } : { enum: codes };
  const narrowed = { properties: { error: { properties: { code } } } };
  const schema = { allOf: [describeShape(errorBody), narrowed] };
  return {
    description,
    headers: referTo(headers),
    content: { "application/json": { schema } },
  };
}
