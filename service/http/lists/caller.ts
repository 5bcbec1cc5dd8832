// Admits API keys alone to what is the account's own. A client ID is published in web pages, so it
// may create, and neither read a list nor keep endpoints.

import type { FastifyReply, FastifyRequest } from "fastify";
import { authorize, type Use } from "../authorize/authorize.ts";
import { Refusal } from "../errors.ts";
import type { Parts } from "../parts.ts";

type CallerParts = Pick<Parts, "accounts" | "now">;

/** An onRequest hook. @throws {Refusal} as authorize does, and 403 `forbidden` for a client ID */
export const apiKeyOnly =
  (parts: CallerParts, use: Use = "read") =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    request.caller = await authorize(request, reply, parts, use);
    reply.header("cache-control", "no-store");
    if (request.caller.kind === "apiKey") return;
    throw new Refusal("forbidden", "a client ID is public: this is for an API key alone");
  };
