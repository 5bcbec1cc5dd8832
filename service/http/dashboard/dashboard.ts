// The API of the dashboard. Requests use JSON and a session cookie. The responses have no CORS
// headers. Only pages from the dashboard's own origin can therefore use the API. Errors have the
// format that spec/service.md §7 defines. The dashboard's API does not accept API keys or client
// IDs. The public API does not accept sessions.

import { InvalidError } from "executable-address";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../../accounts/account.ts";
import { localHosts } from "../../accounts/origins/origins.ts";
import { internalPolicies } from "../../accounts/policies.ts";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { apiPrefix } from "../../store/record.ts";
import { showChain } from "../about/about.ts";
import { requireAccountId } from "../authorize/authorize.ts";
import { foundOrigin, noStore, Refusal } from "../errors.ts";
import { headerValues } from "../headers.ts";
import { refuseFields } from "../input.ts";
import type { ShowPage } from "../lists/addresses.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import { type Operation, type OperationId, operations, toUrl } from "../openapi/operations.ts";
import { findLocalNode } from "../pages/local-node.ts";
import type { Parts } from "../parts.ts";
import { countAnswers } from "../routes.ts";
import type { Statuses } from "../status/status.ts";
import { chooseDepth, openWebhooks } from "../webhooks/webhooks.ts";
import { mountAccount, mountMoney, mountSessions, showAccount } from "./account.ts";
import { type Intents, mountAddresses, mountStatuses } from "./addresses.ts";
import type * as Answers from "./answers.ts";
import { mountCredentials } from "./credentials.ts";
import { mountOrigins } from "./origins.ts";
import { mountSignIn } from "./sign-in.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by findSession. */
    account?: Account;
    sessionId?: string;
  }
}

/**
 * The maximum size of a body before sign-in. A stranger can send such bodies on many connections
 * simultaneously, and the body of a sign-in is short.
 */
const signInBytesMax = 16 * 1024;

type Work = { statuses: Statuses; intents: Intents; showPage: ShowPage };

export function mountDashboard(
  app: FastifyInstance,
  parts: Parts,
  { statuses, intents, showPage }: Work,
): void {
  const countAnswered = (scope: FastifyInstance) =>
    scope.addHook("onRoute", (route) => {
      route.onResponse = countAnswers(parts.metrics, route.url);
    });

  app.register(
    async (scope) => {
      countAnswered(scope);
      scope.addHook("onRoute", (route) => {
        route.bodyLimit = signInBytesMax;
      });
      scope.setErrorHandler(askStore(parts));
      scope.addHook("onRequest", privateAnswer);
      scope.addHook("onRequest", ownWritesOnly(parts));
      mountSignIn(scope, parts);
    },
    { prefix: "/auth" },
  );

  app.register(
    async (scope) => {
      countAnswered(scope);
      scope.setErrorHandler(askStore(parts));
      scope.addHook("onRequest", privateAnswer);
      scope.get("/config", async () => config(parts));
      // Returns 200 even if nobody is signed in, because browsers log every error response in the
      // console.
      const signedIn = async ({ account }: FastifyRequest): Promise<Answers.SignedIn> => ({
        account: account ? showAccount(account) : null,
      });
      scope.get("/session", { onRequest: findSession(parts) }, signedIn);
      scope.register(async (own) => {
        own.addHook("onRequest", ownWritesOnly(parts));
        own.addHook("onRequest", findSession(parts));
        own.addHook("onRequest", requireSession);
        own.addHook("onRequest", limitSession(parts));
        mountAccount(own, parts);
        mountCredentials(own, parts);
        mountOrigins(own, parts);
        mountAddresses(own, intents, showPage);
        mountStatuses(own, parts, statuses);
        mountWebhooks(own, parts);
        mountMoney(own, parts);
        mountSessions(own, parts);
      });
    },
    { prefix: "/dashboard/api" },
  );
}

/**
 * Accepts a write only if its single `Origin` header is the dashboard's origin. Other sites
 * therefore cannot send writes with a user's cookies. They also cannot sign a user in to an
 * attacker's account. If the dashboard runs on the user's own machine, accepts both `localhost` and
 * `127.0.0.1`.
 */
function ownWritesOnly({ publicUrl }: Pick<Parts, "publicUrl">) {
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
function privateAnswer(_request: FastifyRequest, reply: FastifyReply, done: () => void) {
  reply.headers({ ...noStore, "cross-origin-resource-policy": "same-origin" });
  done();
}

/** Finds the session of a request by its cookies. Sets the request's account and session ID. */
function findSession({ accounts }: Pick<Parts, "accounts">) {
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
async function requireSession({ account }: FastifyRequest): Promise<void> {
  if (!account) throw new SignInError("unauthorized");
}

/**
 * Must run after {@link requireSession}.
 * @throws {Refusal} 429 `rate_limited`
 */
function limitSession({ accounts: { limiter } }: Pick<Parts, "accounts">) {
  return (request: FastifyRequest) =>
    takeOrRefuse(
      limiter,
      internalPolicies.dashboard,
      requireAccountId(request),
      "too many requests",
    );
}

/**
 * Mounts the public API's webhook operations with sessions instead of API keys. Adds one operation
 * that only the dashboard has.
 */
function mountWebhooks(app: FastifyInstance, parts: Parts): void {
  for (const [id, handler] of Object.entries(openWebhooks(parts))) {
    const operation: Operation = operations[id as OperationId];
    const { method, path } = operation;
    app.route({ method, url: toUrl(path), preHandler: refuseFields(operation), handler });
  }
  app.post("/webhooks/confirmations", chooseDepth(parts));
}

/**
 * Returns an error handler for the dashboard's routes. After an unknown error, the handler checks
 * whether the database is available. If the database is not available, the status is 503 instead of
 * 500. A check of the database is simpler than a function that recognizes all database errors.
 */
const askStore =
  ({ store }: Pick<Parts, "store">) =>
  async (error: unknown) => {
    const isKnown = [Refusal, InvalidError, SignInError].some((kind) => error instanceof kind);
    if (!isKnown) await store.check();
    throw error;
  };

/** The configuration that the pages need before sign-in. */
const config = ({ accounts, publicUrl, docsUrl, chains }: Parts): Answers.Config => ({
  signup: accounts.signup,
  publicUrl,
  apiBase: `${publicUrl}${apiPrefix}`,
  docsUrl: docsUrl ?? null,
  chains: chains.listed().map((chain) => ({
    ...showChain(chain),
    explorer: chain.explorer ?? null,
    localNode: findLocalNode(chain, publicUrl) ?? null,
  })),
});
