// The form for a new address: POST /dashboard/api/check checks an intent, and POST
// /dashboard/api/addresses creates its address, as the API does for the account's key.

import type { FastifyInstance } from "fastify";
import type { CheckIntent } from "../create/check.ts";
import type { CreateRecord } from "../create/create.ts";
import { parseCreateQuery } from "../create/reference.ts";
import { jsonType } from "../headers.ts";
import { accountIdOf } from "./session.ts";

export type Intents = { check: CheckIntent; create: CreateRecord };

export function mountIntents(app: FastifyInstance, { check, create }: Intents): void {
  app.post("/check", async (request, reply) => {
    reply.header("content-type", jsonType);
    return check(accountIdOf(request), request.body);
  });

  app.post("/addresses", async (request, reply) => {
    const by = { accountId: accountIdOf(request), isClientId: false, isBound: false };
    const record = await create(request.body, { ...by, ...parseCreateQuery(request) });
    reply.header("content-type", jsonType);
    return record;
  });
}
