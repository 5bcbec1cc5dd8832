// Hooks of the dashboard's routes: a session is required, and writes must come from our own page.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../../accounts/account.ts";
import type { Actor } from "../../accounts/audit.ts";
import type { Policy } from "../../accounts/limits.ts";
import { localHosts } from "../../accounts/origins/origins.ts";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { foundOrigin, Refusal } from "../errors.ts";
import { spend } from "../load/admission.ts";
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
 * Refuses a write unless its one `Origin` is our own: no other site may act with a person's
 * cookies, nor sign a person in. On one's own machine `localhost` and `127.0.0.1` are one.
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
      const message = `only the dashboard's own pages may do this, at ${origin}`;
      throw new Refusal("forbidden", `${message}, found ${foundOrigin(origins)}`);
    }
    done();
  };
}

/** Answers of the dashboard are private and must not be cached. */
export function privateAnswer(_request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.headers({ "cache-control": "no-store", "cross-origin-resource-policy": "same-origin" });
  done();
}

/** Sets what the request's cookies tell, if they belong to a session. */
export function findSession({ accounts }: Pick<Parts, "accounts">) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const session = await accounts.signIn.findSession(request.headers);
    if (!session) return;
    request.account = session.account;
    request.sessionId = session.sessionId;
    // A session in use is prolonged.
    if (session.setCookies.length > 0) reply.header("set-cookie", session.setCookies);
  };
}

/** After findSession. @throws {SignInError} `unauthorized` where it found none */
export async function requireSession({ account }: FastifyRequest): Promise<void> {
  if (!account) throw new SignInError("unauthorized");
}

/** One account's requests to the dashboard: 200 at once, then 10 a second. */
const perAccount: Policy = { name: "dashboard", intervalMs: 100, burst: 200 };

/** After requireSession. @throws {Refusal} 429 `rate_limited` */
export function limitSession({ accounts: { limiter } }: Pick<Parts, "accounts">) {
  return (request: FastifyRequest) =>
    spend(limiter, perAccount, accountIdOf(request), "too many requests");
}

/** The account of a request that a session or an API key let pass. */
export const accountIdOf = ({ account, caller }: FastifyRequest): string =>
  (account ?? caller)!.accountId;

const userAgentMax = 200;

export const actorOf = (request: FastifyRequest, { now }: Pick<Parts, "now">): Actor => ({
  ip: request.ip,
  userAgent: request.headers["user-agent"]?.slice(0, userAgentMax),
  atMs: now(),
});
