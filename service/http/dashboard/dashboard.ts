// The API of the dashboard. Requests use JSON and a session cookie. The API has the origin of the
// dashboard, and does not allow CORS. Errors have the format that spec/service.md §7 defines. The
// dashboard's API does not accept API keys or client IDs, and the public API does not accept
// sessions.

import { InvalidError } from "executable-address";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { SignInError } from "../../accounts/sign-in/errors.ts";
import { showChain } from "../about/about.ts";
import type * as Answers from "../answers.ts";
import { Refusal } from "../errors.ts";
import { refuseFields } from "../input.ts";
import { type Operation, type OperationId, operations, toUrl } from "../openapi/operations.ts";
import { findLocalNode } from "../pages/local-node.ts";
import type { Parts } from "../parts.ts";
import { countAnswers } from "../routes.ts";
import type { Statuses } from "../status/status.ts";
import { chooseDepth, openWebhooks } from "../webhooks/webhooks.ts";
import { mountAccount, mountMoney, mountSessions, showAccount } from "./account.ts";
import { type Intents, mountAddresses, mountStatuses } from "./addresses.ts";
import { mountCredentials, mountOrigins } from "./credentials.ts";
import {
  findSession,
  limitSession,
  ownWritesOnly,
  privateAnswer,
  requireSession,
} from "./session.ts";
import { mountSignIn } from "./sign-in.ts";

const bodyBytesMax = 16 * 1024;

export function mountDashboard(
  app: FastifyInstance,
  parts: Parts,
  statuses: Statuses,
  intents: Intents,
): void {
  const metered = (scope: FastifyInstance) =>
    scope.addHook("onRoute", (route) => {
      route.bodyLimit = bodyBytesMax;
      route.onResponse = countAnswers(parts.metrics, route.url);
    });

  app.register(
    async (scope) => {
      metered(scope);
      scope.setErrorHandler(askStore(parts));
      scope.addHook("onRequest", privateAnswer);
      scope.addHook("onRequest", ownWritesOnly(parts));
      mountSignIn(scope, parts);
    },
    { prefix: "/auth" },
  );

  app.register(
    async (scope) => {
      metered(scope);
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
        mountAddresses(own, parts, intents);
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
 * Mounts the public API's webhook operations with sessions instead of API keys, and one operation
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
 * 500. This check is simpler than a function that recognizes all database errors.
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
  apiBase: `${publicUrl}/v1`,
  docsUrl: docsUrl ?? null,
  chains: chains.listed().map((chain) => ({
    ...showChain(chain),
    explorer: chain.explorer ?? null,
    localNode: findLocalNode(chain, publicUrl) ?? null,
  })),
});
