// Who asks: spec/service.md §5.

import type { FastifyReply, FastifyRequest } from "fastify";
import { digestOf, isApiKey } from "../accounts/credentials.ts";
import { Refusal } from "./errors.ts";
import { headerValues } from "./headers.ts";
import type { Parts } from "./parts.ts";

export type Caller = { accountId: string; kind: "apiKey" | "clientId" };

/** @throws {Refusal} `unauthorized`, with the challenge that names the scheme */
export async function authorize(
  request: FastifyRequest,
  _reply: FastifyReply,
  { store }: Pick<Parts, "store">,
): Promise<Caller> {
  const [value, ...more] = headerValues(request.raw.rawHeaders, "authorization");
  const key = /^Bearer +(\S+)$/i.exec(value ?? "")?.[1];
  if (key && more.length === 0 && isApiKey(key)) {
    const found = await store.findApiKey(digestOf(key));
    if (found) return { accountId: found.accountId, kind: "apiKey" };
  }
  throw new Refusal("unauthorized", "expected one credential that this service knows", {
    headers: { "WWW-Authenticate": 'Bearer realm="executable-address"' },
  });
}
