// POST /address/create: spec/service.md §4.1. Idempotent: the same intent is answered by the same
// bytes, whoever asks and however often, once its record is durable.

import { deriveAddress } from "executable-address";
import type { FastifyRequest } from "fastify";
import { perDay } from "../../accounts/limits.ts";
import { parseReference, referenceWriter } from "../../events/references.ts";
import { recordJson } from "../../store/record-json.ts";
import { authorize } from "../authorize/authorize.ts";
import { missingBody } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import { spend } from "../load/limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { parseNewIntent } from "./new-intent.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by create's `before`, when the credential has passed. */
    caller?: Awaited<ReturnType<typeof authorize>>;
  }
}

type Creator = { accountId: string; isClientId: boolean; reference: string | undefined };

/**
 * Resolves when the record is durable, and its reference where there is one.
 *
 * @param body any JSON value
 * @returns JSON: the record
 * @throws {InvalidError} with every fault of the intent, {UnavailableError}
 */
export type CreateRecord = (body: unknown, by: Creator) => Promise<string>;

/** Called once: creates of the API and of the dashboard share commits. */
export function openCreate(parts: Parts): CreateRecord {
  const { store, keccak, factory } = parts;
  const bound = boundPerDay(parts);
  const references = referenceWriter(store);
  return async (body, { accountId, isClientId, reference }) => {
    const { intent, terms } = parseNewIntent(body, parts);
    const address = deriveAddress(terms, { factory, keccak });
    await bound(accountId);
    await store.saveRecord({ address, terms, accountId, isClientId, createdAtMs: parts.now() });
    if (reference !== undefined) await references({ accountId, address, reference });
    return recordJson(address, terms, intent, parts);
  };
}

/** Of valid intents alone, repeated ones included. @throws {Refusal} 429 above it */
function boundPerDay({ accounts, limits }: Parts) {
  const most = limits.addressesPerAccountDay;
  if (most === 0) return async () => {};
  const policy = perDay("addresses-day", most);
  return (accountId: string) =>
    spend(accounts.limiter, policy, accountId, `over ${most} addresses a day`);
}

/** The reference that a query gives an address. @throws {InvalidError} */
export function referenceOf({ query }: FastifyRequest): string | undefined {
  const { reference } = query as { reference?: unknown };
  return reference === undefined ? undefined : parseReference(reference);
}

export function create(admission: Admission, createRecord: CreateRecord, parts: Parts): Route {
  return {
    // The credential is checked before the body is read, so strangers cannot have one parsed.
    before: [
      admission.enter,
      async (request, reply) => {
        request.caller = await authorize(request, reply, parts);
      },
      admission.awaitBody,
    ],
    async handler(request, reply) {
      admission.begin(request);
      if (request.body === undefined) throw missingBody(request.headers["content-type"]);
      const { accountId, kind } = request.caller as NonNullable<typeof request.caller>;
      const by = { accountId, isClientId: kind === "clientId", reference: referenceOf(request) };
      const record = await createRecord(request.body, by);
      reply.header("content-type", "application/json; charset=utf-8");
      return record;
    },
  };
}
