// Admits the API key alone to an account's lists. A client ID is published in web pages, so it may
// create and read no list.

import type { FastifyReply, FastifyRequest } from "fastify";
import { authorize } from "../authorize/authorize.ts";
import { Refusal } from "../errors.ts";
import type { Parts } from "../parts.ts";

type CallerParts = Pick<Parts, "store" | "accounts" | "now">;

/** An onRequest hook. @throws {Refusal} as authorize does, and 403 `forbidden` for a client ID */
export const apiKeyOnly =
  (parts: CallerParts) => async (request: FastifyRequest, reply: FastifyReply) => {
    request.caller = await authorize(request, reply, parts, "read");
    if (request.caller.kind === "apiKey") return;
    throw new Refusal("forbidden", "a client ID is public, so it reads no list: use the API key");
  };
