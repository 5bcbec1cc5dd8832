// What the dashboard's form does with an intent: POST /dashboard/api/check tries it, and POST
// /dashboard/api/addresses makes an address of it, as the account's API key would.

import type { FastifyInstance } from "fastify";
import type { CheckIntent } from "../create/check.ts";
import { type CreateRecord, referenceOf } from "../create/create.ts";
import { accountIdOf } from "./session.ts";

export type Intents = { check: CheckIntent; create: CreateRecord };

const json = "application/json; charset=utf-8";

export function mountIntents(app: FastifyInstance, { check, create }: Intents): void {
  app.post("/check", async (request, reply) => {
    reply.header("content-type", json);
    return check(accountIdOf(request), request.body);
  });

  app.post("/addresses", async (request, reply) => {
    const by = { accountId: accountIdOf(request), isClientId: false };
    const record = await create(request.body, { ...by, reference: referenceOf(request) });
    reply.header("content-type", json);
    return record;
  });
}
