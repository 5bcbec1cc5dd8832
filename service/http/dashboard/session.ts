// The hooks of the dashboard's routes, which require a session and accept writes only from the
// dashboard's own pages.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../../accounts/account.ts";
import type { Policy } from "../../accounts/limits.ts";
import { localHosts } from "../../accounts/origins/origins.ts";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { requireAccountId } from "../authorize/authorize.ts";
import { foundOrigin, noStore, Refusal } from "../errors.ts";
import { spend } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import { headerValues } from "../routes.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by findSession. */
    account?: Account;
    sessionId?: string;
  }
}

/**
 * Refuses a write unless it has a single `Origin` header with the dashboard's origin. So another
 * site cannot write with a user's cookies, and cannot sign a user in. If the dashboard runs on the
 * user's own machine, accepts both `localhost` and `127.0.0.1`.
 */
export function ownWritesOnly({ publicUrl }: Pick<Parts, "publicUrl">) {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  const own = localHosts.includes(hostname)
    ? localHosts.map((host) => `${protocol}//${host}${port && `:${port}`}`)
    : [origin];
  return (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
    if (request.method === "GET" || request.method === "HEAD") return done();
    const origins = headerValues(request.raw.rawHeaders, "origin");
    if (origins.length !== 1 || !own.includes(origins[0] as string)) {
      const message = `expected a request from a page of the dashboard at ${origin}`;
      throw new Refusal("forbidden", `${message}, found ${foundOrigin(origins)}`);
    }
    done();
  };
}

/** Prevents caching of the dashboard's responses, and prevents other sites from embedding them. */
export function privateAnswer(_request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.headers({ ...noStore, "cross-origin-resource-policy": "same-origin" });
  done();
}

/** Finds the session of a request by its cookies, and sets the request's account and session ID. */
export function findSession({ accounts }: Pick<Parts, "accounts">) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const session = await accounts.signIn.findSession(request.headers);
    if (!session) return;
    request.account = session.account;
    request.sessionId = session.sessionId;
    // When better-auth extends a session, it also renews the cookie.
    if (session.setCookies.length > 0) reply.header("set-cookie", session.setCookies);
  };
}

/**
 * Must run after {@link findSession}.
 * @throws {SignInError} `unauthorized` if there is no session
 */
export async function requireSession({ account }: FastifyRequest): Promise<void> {
  if (!account) throw new SignInError("unauthorized");
}

/** The limit on each account's dashboard requests: a burst of 200, and then 10 per second. */
const perAccount: Policy = { name: "dashboard", intervalMs: 100, burst: 200 };

/**
 * Must run after {@link requireSession}.
 * @throws {Refusal} 429 `rate_limited`
 */
export function limitSession({ accounts: { limiter } }: Pick<Parts, "accounts">) {
  return (request: FastifyRequest) =>
    spend(limiter, perAccount, requireAccountId(request), "too many requests");
}
