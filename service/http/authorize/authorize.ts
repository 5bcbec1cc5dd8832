// Authenticates requests and applies their rate limits: spec/service.md §5. Each request reads the
// primary database. Old credentials and removed origins therefore stop working immediately.

import { apiKeyFormat, clientIdFormat } from "executable-address/client/internal";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Actor } from "../../accounts/audit.ts";
import {
  type CredentialKind,
  checkSpelling,
  digestCredential,
  type Scope,
} from "../../accounts/credentials.ts";
import { findAllowing } from "../../accounts/origins/origins.ts";
import { type Policy, policies } from "../../accounts/policies.ts";
import { toIso } from "../../flow/days.ts";
import { UnavailableError } from "../../store/store.ts";
import { foundOrigin, Refusal } from "../errors.ts";
import { headerValues } from "../headers.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";

/**
 * `isBound` and `mayName` are settings of a client ID (accounts/credentials.ts). For a request with
 * an API key, `isBound` is always false, and `mayName` is always true.
 */
type Caller = { accountId: string; kind: CredentialKind; isBound: boolean; mayName: boolean };
/**
 * `limitKey` identifies the caller for the rate limit. Each API key has its own limit. A client ID
 * has the limit of its account. A rotation does not change `limitKey`, so the limit is not reset.
 */
type Limited = Caller & { limitKey: string };
type AuthorizeParts = Pick<Parts, "accounts" | "now">;

declare module "fastify" {
  interface FastifyRequest {
    /** A hook in the route's `before` sets this field after it has accepted the credential. */
    caller?: Caller;
  }
}

/** The purposes of requests. Each has a rate limit, and a scope that an API key needs. */
const uses = {
  create: { scope: "create", policy: policies.apiKey },
  check: { scope: "create", policy: policies.reads },
  read: { scope: "read", policy: policies.reads },
  webhooks: { scope: "webhooks", policy: policies.webhooks },
} as const satisfies Record<string, { scope: Scope; policy: Policy }>;
type Use = keyof typeof uses;

/**
 * Authenticates a request, and returns the account of its credential. Checks these rules in order,
 * and treats an empty header as present.
 *
 * 1. 400 `invalid_request`: the request has both `Authorization` and `X-Client-Id`, or repeats
 *    either header.
 * 2. 401 `unauthorized`: the request has neither header.
 * 3. 403 `api_key_in_browser`: the request has `Authorization: Bearer` and any `Origin`, even an
 *    empty one. The response does not reveal whether the API key is valid.
 * 4. 401 `unauthorized`: the scheme is not `Bearer`, or the credential is not valid. A credential
 *    is valid if it exists, has not expired, and has the correct format and checksum. Only a
 *    credential with a correct checksum costs a database query.
 * 5. 403 `scope_required`: the API key lacks the scope that `use` needs. 403 `origin_required`: a
 *    request with a client ID has no `Origin`.
 * 6. 403 `origin_not_allowed`: a request with a client ID has several `Origin` headers, or an
 *    origin that the account does not allow.
 * 7. 429 `rate_limited`: the request exceeds the credential's rate limit.
 *
 * If rule 3 refuses a request with an existing key, the service records that the key was used in a
 * browser. The dashboard then shows a warning. A request that passes rule 4 but gets a 4xx status
 * is counted as refused in the account's usage. A request that these rules refuse does not count
 * against the rate limit.
 *
 * @param use the purpose of the request; successful requests count in the account's usage only for
 *   `create`
 * @throws {Refusal} according to these rules
 * @throws {UnavailableError} if the database does not respond
 */
export async function authorize(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: AuthorizeParts,
  use: Use = "create",
): Promise<Caller> {
  const { rawHeaders } = request.raw;
  const authorizations = headerValues(rawHeaders, "authorization");
  const clientIds = headerValues(rawHeaders, "x-client-id");
  const origins = headerValues(rawHeaders, "origin");

  const count = authorizations.length + clientIds.length;
  if (count > 1) {
    const message = `expected one credential (an API key or a client ID), found ${count}`;
    throw new Refusal("invalid_request", message);
  }
  if (count === 0) {
    throw unauthorized(
      "a credential is required, found none: send Authorization: Bearer with an API key, or " +
        "X-Client-Id with a client ID",
    );
  }
  const caller =
    authorizations[0] === undefined
      ? await useClientId(clientIds[0] as string, origins, reply, parts, use)
      : await useApiKey(authorizations[0], origins, reply, parts, use);

  const policy = caller.kind === "apiKey" ? uses[use].policy : policies.clientId;
  reply.headers(
    await takeOrRefuse(parts.accounts.limiter, policy, caller.limitKey, "over the limit"),
  );
  return caller;
}

/**
 * Returns an onRequest hook that accepts only API keys. A client ID is public, so it must not give
 * access to lists or webhook endpoints.
 *
 * @throws {Refusal} the same refusals as {@link authorize}, and 403 `forbidden` for a client ID
 */
export const apiKeyOnly =
  (parts: AuthorizeParts, use: Use = "read") =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.caller = await authorize(request, reply, parts, use);
    if (request.caller.kind === "apiKey") return;
    throw new Refusal("forbidden", "this operation requires an API key, found a client ID");
  };

async function useApiKey(
  authorization: string,
  origins: string[],
  reply: FastifyReply,
  parts: AuthorizeParts,
  use: Use,
): Promise<Limited> {
  const bearer = /^bearer(?: +(.*))?$/i.exec(authorization);
  const key = bearer?.[1] ?? "";
  if (bearer && origins.length > 0) {
    if (checkSpelling("apiKey", key) === "valid")
      parts.accounts.usage.seenInBrowser(digestCredential(key), parts.now());
    throw new Refusal(
      "api_key_in_browser",
      `expected no Origin header with an API key, found ${foundOrigin(origins)}: API keys are ` +
        "only for servers; if a web page contains the key, rotate the key, and use the client ID " +
        "in the page",
    );
  }
  if (!bearer)
    // The `Authorization` header may be a key without a scheme, so the message does not quote it.
    throw unauthorized(
      "expected an Authorization header with the scheme Bearer and an API key, found " +
        `${authorization.length} characters with another scheme`,
    );
  assertSpelled("apiKey", key);
  const digest = digestCredential(key);
  const found = await lookUp(parts.accounts.holders.findApiKey(digest));
  if (!found) throw unauthorized("unknown API key; it may have been rotated or revoked");
  const { accountId, number, scopes, expiresAtMs } = found;
  if (expiresAtMs !== null && expiresAtMs <= parts.now())
    throw unauthorized(`the API key expired at ${toIso(expiresAtMs)}`);
  countWhenAnswered({ accountId, kind: "apiKey" }, digest, reply, parts, use);
  assertScope(uses[use].scope, scopes);
  const settings = { isBound: false, mayName: true };
  return { accountId, kind: "apiKey", ...settings, limitKey: `${accountId}/${number}` };
}

async function useClientId(
  clientId: string,
  origins: string[],
  reply: FastifyReply,
  parts: AuthorizeParts,
  use: Use,
): Promise<Limited> {
  assertSpelled("clientId", clientId);
  const digest = digestCredential(clientId);
  const found = await lookUp(parts.accounts.holders.findClientId(digest));
  if (!found) throw unauthorized("unknown client ID; it may have been rotated");
  const { accountId, isBound, mayName } = found;
  countWhenAnswered({ accountId, kind: "clientId" }, digest, reply, parts, use);
  const [origin, ...more] = origins;
  if (origin === undefined) {
    throw new Refusal(
      "origin_required",
      "a client ID requires an Origin header, found none: web browsers send the header; on a " +
        "server, use an API key",
    );
  }
  if (more.length > 0 || findAllowing(origin, found.origins) === undefined) {
    throw new Refusal(
      "origin_not_allowed",
      `expected an origin that the account allows, found ${foundOrigin(origins)}: ` +
        "the dashboard lists the allowed origins",
    );
  }
  return { accountId, kind: "clientId", isBound, mayName, limitKey: accountId };
}

/** @throws {Refusal} with the missing scope and the key's scopes */
function assertScope(needed: Scope, scopes: readonly Scope[]): void {
  if (scopes.includes(needed)) return;
  const message =
    `this operation requires an API key with the scope ${needed}; this key has ` +
    `${scopes.join(", ")}`;
  const issue = { path: ["scopes"], code: "scope_required", message: `expected ${needed}` };
  throw new Refusal("scope_required", message, { issues: [issue] });
}

const challenge = { "www-authenticate": 'Bearer realm="executable-address"' };

const unauthorized = (message: string) =>
  new Refusal("unauthorized", message, { headers: challenge });

const wanted = {
  apiKey: `expected an API key: ${apiKeyFormat}`,
  clientId: `expected a client ID: ${clientIdFormat}`,
};

/** @throws {Refusal} 401; the message does not quote the credential */
function assertSpelled(kind: CredentialKind, text: string): void {
  const spelling = checkSpelling(kind, text);
  if (spelling === "malformed")
    throw unauthorized(`${wanted[kind]}, found ${text.length} characters`);
  if (spelling === "bad_checksum") {
    throw unauthorized(
      `${wanted[kind]}, found a wrong checksum (the last 8 digits), so some characters are ` +
        "wrong: copy the credential again, or rotate it in the dashboard",
    );
  }
}

/**
 * Waits for the result of a credential's lookup. If the database fails, throws an error that
 * results in 503 instead of 500. The client then retries.
 */
async function lookUp<Found>(found: Promise<Found>): Promise<Found> {
  try {
    return await found;
  } catch (cause) {
    throw new UnavailableError("the database failed while it looked up a credential", { cause });
  }
}

/**
 * Counts the request in the account's usage when it is answered. Ignores statuses of 500 or above,
 * because these responses report faults of the service.
 */
function countWhenAnswered(
  caller: Pick<Caller, "accountId" | "kind">,
  digest: Buffer,
  reply: FastifyReply,
  { accounts, now }: AuthorizeParts,
  use: Use,
): void {
  reply.raw.once("finish", () => {
    if (reply.statusCode >= 500) return;
    const served = use === "create" ? "created" : "used";
    const outcome = reply.statusCode < 400 ? served : "refused";
    accounts.usage.count({ ...caller, digest, atMs: now() }, outcome);
  });
}

/** Returns the account of a request that was authenticated by a session or an API key. */
export const requireAccountId = ({ account, caller }: FastifyRequest): string =>
  (account ?? caller)!.accountId;

const userAgentCharactersMax = 200;

export const readActor = (request: FastifyRequest, { now }: Pick<Parts, "now">): Actor => ({
  ip: request.ip,
  userAgent: request.headers["user-agent"]?.slice(0, userAgentCharactersMax),
  atMs: now(),
});
