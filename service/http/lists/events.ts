// GET /events: spec/service.md, "Lists". The account's events in order, for a shop that was down
// and missed its webhooks.

import { z } from "zod";
import { listEvents } from "../../events/list.ts";
import { integerInput, parseQuery } from "../input/schema.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { apiKeyOnly } from "./caller.ts";

const input = z.strictObject({
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/, "expected the next of an earlier page")
    .transform(Number)
    .default(0),
  limit: integerInput(1, 100).default(50),
});

export function accountEvents(parts: Parts): Route {
  return {
    before: [apiKeyOnly(parts)],
    async handler(request, reply) {
      const { cursor, limit } = parseQuery(input, request);
      const { accountId } = request.caller!;
      const found = await listEvents(parts.store.db, {
        accountId,
        after: cursor,
        limit: limit + 1,
      });
      const page = found.slice(0, limit);
      const next = page.at(-1)?.position ?? cursor;
      reply
        .header("cache-control", "no-store")
        .header("content-type", "application/json; charset=utf-8");
      // The bodies as they are stored, which are the bytes that webhooks carry.
      const items = page.map(({ body }) => body).join(",");
      return `{"items":[${items}],"next":"${next}","hasMore":${found.length > limit}}`;
    },
  };
}
