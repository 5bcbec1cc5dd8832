// The refusals and headers that operations share. The table in ../errors.ts has the status of each
// code.

import { type Code, errorBody, statuses } from "../errors.ts";
import { describeShape, type Schema } from "./schemas.ts";

type Header = { description?: string; required?: true; schema: Schema };
const exactly = (value: string): Schema => ({ type: "string", const: value });
const like = (pattern: string): Schema => ({ type: "string", pattern });

const limitNames = "(api-key|api-key-read|api-key-webhooks|webhook-test|client-id)";
const policy = like(`^"${limitNames}";q=[0-9]+;w=[0-9]+$`);
const limit = like(`^"${limitNames}";r=[0-9]+;t=[0-9]+$`);

export const headers = {
  RequestId: {
    description: "Identifies this request in the server's log.",
    required: true,
    schema: like("^[0-9a-f]{12}-[0-9a-z]+$"),
  },
  AllowOrigin: {
    description: "Any page may read any answer.",
    required: true,
    schema: exactly("*"),
  },
  ExposeHeaders: {
    description: "The headers that a page's script may read.",
    required: true,
    schema: { type: "string" },
  },
  NoSniff: { required: true, schema: exactly("nosniff") },
  NoBuffering: {
    description: "Tells proxies to forward each event immediately.",
    required: true,
    schema: exactly("no"),
  },
  NoStore: { required: true, schema: exactly("no-store") },
  Immutable: {
    description: "The intent behind an address never changes.",
    required: true,
    schema: exactly("public, max-age=31536000, immutable"),
  },
  MinuteOld: {
    description: "The answer may change at any minute.",
    required: true,
    schema: exactly("public, max-age=60"),
  },
  Briefly: {
    description: "For the caller and any cache.",
    required: true,
    schema: exactly("public, max-age=2"),
  },
  ETag: {
    description: "Strong: the bytes of a record never change.",
    required: true,
    schema: like('^"[A-Za-z0-9_-]+"$'),
  },
  RetryAfter: {
    description: "Whole seconds, 1 or more.",
    required: true,
    schema: like("^[1-9][0-9]*$"),
  },
  RateLimitPolicy: {
    description: "The credential's limit: the burst `q` is full again after `w` seconds of rest.",
    required: true,
    schema: policy,
  },
  RateLimit: {
    description: "`r` requests are left now; in `t` seconds all of them are.",
    required: true,
    schema: limit,
  },
  WwwAuthenticate: { required: true, schema: like("^Bearer ") },
  RateLimitPolicyIfKnown: {
    description: "Present once a known credential was counted.",
    schema: policy,
  },
  RateLimitIfKnown: { description: "Present once a known credential was counted.", schema: limit },
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;
/** The headers of an answer, by their HTTP names. */
export type Headers = Readonly<Record<string, HeaderName>>;

/** Every response to a request has these. */
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
      "The body, the path, the query or a header is wrong; `issues` says where and what would be " +
      "valid. Also both credentials in one request, or one of them twice.",
    headers: known,
  },
  InvalidAddress: {
    codes: ["invalid_request"],
    description: "The path is not `0x` and 40 hex characters, or the query is wrong.",
    headers: refused,
  },
  Unauthorized: {
    codes: ["unauthorized"],
    description: "No credential, or an unknown one.",
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
      "`api_key_in_browser`: an API key with an `Origin`. `origin_required`: a client ID without " +
      "one. `origin_not_allowed`: a client ID from an origin that its account does not allow. " +
      "`scope_required`: an API key without the scope `create`. `not_signed`: a bound client ID " +
      "sends an intent that the account's server did not sign, or a signature is wrong. " +
      "`forbidden`: the account takes no reference from its client ID.",
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
      "The credential may not be used from there, or it is a client ID: `forbidden`. " +
      "`scope_required`: an API key without the scope that this needs; the message names it.",
    headers: known,
  },
  NotFound: {
    codes: ["not_found"],
    description:
      "The service has no intent for the address: an ordinary account, or one made with the " +
      "contracts directly.",
    headers: refused,
  },
  BodyTooLarge: {
    codes: ["body_too_large"],
    description: "The body is larger than any valid one.",
    headers: known,
  },
  UnsupportedMediaType: {
    codes: ["unsupported_media_type"],
    description: "The body is not `application/json` in UTF-8, without a content encoding.",
    headers: known,
  },
  RateLimited: {
    codes: ["rate_limited"],
    description:
      "Over the rate limit of the credential: 50 requests per second with a burst of 100 for an " +
      "API key, 10 and 20 for a client ID.",
    headers: { ...refused, ...counted, "Retry-After": "RetryAfter" },
  },
  HeadersTooLarge: {
    codes: ["headers_too_large"],
    description: "More than 64 headers.",
    headers: refused,
  },
  InternalError: {
    codes: ["internal_error"],
    description: "Our fault; logged under the request's ID.",
    headers: known,
  },
  Unavailable: {
    codes: ["service_unavailable"],
    description: "Too many requests are in progress, or the store does not answer. Try again.",
    headers: { ...known, "Retry-After": "RetryAfter" },
  },
  ChainUnavailable: {
    codes: ["chain_unavailable", "unproved", "service_unavailable"],
    description:
      "The chain cannot be read now (`chain_unavailable`), it returned no proof that verifies " +
      "(`unproved`, only for proofs), or too many requests are in progress.",
    headers: { ...refused, "Retry-After": "RetryAfter" },
  },
  CheckUnavailable: {
    codes: ["chain_unavailable", "service_unavailable"],
    description:
      "The chain cannot be read now (`chain_unavailable`), too many requests are in progress, or " +
      "the store does not answer.",
    headers: { ...known, "Retry-After": "RetryAfter" },
  },
  NoRoom: {
    codes: ["service_unavailable"],
    description: "This server has no room for another stream, or is about to stop. Try again.",
    headers: { ...refused, "Retry-After": "RetryAfter" },
  },
  ReferenceInUse: {
    codes: ["reference_in_use"],
    description:
      "Another address of the account has the reference, and the issue's message is that " +
      "address; or a client ID names an address that exists.",
    headers: known,
  },
  NoneOfYours: {
    codes: ["not_found"],
    description: "The account has none with this address or ID.",
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

/** The refusals that belong to no operation. */
const unowned: Record<string, Answer> = {
  UnknownPath: {
    codes: ["unknown_path"],
    description: "Any path that is not described here.",
    headers: refused,
  },
  MethodNotAllowed: {
    codes: ["method_not_allowed"],
    description: "A method that the path does not accept.",
    headers: refused,
  },
  RequestTimeout: {
    codes: ["request_timeout"],
    description: "The request did not arrive in time.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  NotHttp: {
    codes: ["invalid_request"],
    description: "The bytes are not an HTTP/1.1 request.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  HeadersOverflow: {
    codes: ["headers_too_large"],
    description: "More than 16 KiB of headers.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
  ExpectationFailed: {
    codes: ["expectation_failed"],
    description: "An `Expect` header other than `100-continue`.",
    headers: { ...beforeRequests, "Cache-Control": "NoStore" },
  },
};

const allow = {
  description: "The methods that this path accepts.",
  required: true,
  schema: { type: "string" },
};

/** Responses that belong to no operation: a linter would report them as unused components. */
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
      description: "The preflight request of a page, on every path.",
      headers: {
        ...referTo(everywhere),
        Allow: allow,
        "Access-Control-Allow-Methods": allow,
        "Access-Control-Allow-Headers": {
          required: true,
          schema: like("^Authorization, Content-Type, X-Client-Id"),
        },
        "Access-Control-Max-Age": {
          description: "Seconds.",
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

/** An error, narrowed to the codes that it can have here. */
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
