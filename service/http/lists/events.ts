// GET /events and GET /events/{id}: spec/service.md, "Lists". Lists the account's events, oldest
// first. A shop that was down can read the events whose webhooks it missed.

import { eventTypes } from "executable-address/webhook";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import { eventRetentionMs, findEvent, listEvents } from "../../events/list.ts";
import { dayMs } from "../../flow/days.ts";
import { apiKeyOnly } from "../authorize/authorize.ts";
import { foundText, jsonType, Refusal } from "../errors.ts";
import { integerInput, parseQuery } from "../input.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { SearchInTurn } from "./turn.ts";

export const eventsInput = z.strictObject({
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/, "expected the value of `next` from an earlier page")
    .transform(Number)
    .optional()
    .describe(
      "The `next` value of an earlier page. If absent, the list starts with the oldest event.",
    ),
  limit: integerInput(1, 100).default(50).describe("The number of items per page."),
  types: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(z.enum(eventTypes)).max(eventTypes.length))
    .optional()
    .describe("Returns only events of these types, separated by commas."),
});

export function accountEvents(parts: Parts, searchInTurn: SearchInTurn): Route {
  return {
    before: [apiKeyOnly(parts)],
    async handler(request, reply) {
      const { cursor = 0, limit, types } = parseQuery(eventsInput, request);
      const { accountId } = request.caller!;
      const query = { accountId, after: cursor, limit: limit + 1, types };
      const { rows, until } = await searchInTurn(request, accountId, (turn) =>
        listEvents(parts.store.db, { ...query, turn }),
      );
      const page = rows.slice(0, limit);
      const hasMore = rows.length > limit;
      const read = page.at(-1)?.position ?? cursor;
      const next = hasMore ? read : Math.max(read, until);
      asJson(reply);
      // Copies the stored bodies unchanged, so that lists and webhooks contain the same bytes.
      const items = page.map(({ body }) => body).join(",");
      return `{"items":[${items}],"next":"${next}","hasMore":${hasMore}}`;
    },
  };
}

export function accountEvent(parts: Parts): Route {
  return {
    before: [apiKeyOnly(parts)],
    async handler(request, reply) {
      const { id } = request.params as { id: string };
      const body = await findEvent(parts.store.db, request.caller!.accountId, id);
      if (body === undefined)
        throw new Refusal(
          "not_found",
          `the account has no event ${foundText(id)} in the last ${eventRetentionMs / dayMs} days`,
        );
      asJson(reply);
      return body;
    },
  };
}

const asJson = (reply: FastifyReply) => reply.header("content-type", jsonType);
