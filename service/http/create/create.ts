// POST /address/create: spec/service.md §4.1. Idempotent: the same intent always gets the same
// bytes, once its record is durable.

import { deriveAddress } from "executable-address";
import { perDay } from "../../accounts/limits.ts";
import { recordJson } from "../../store/record-json.ts";
import { authorize } from "../authorize/authorize.ts";
import { missingBody } from "../errors.ts";
import { jsonType, refuseIdempotencyKey } from "../headers.ts";
import type { Admission } from "../load/admission.ts";
import { spend } from "../load/limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import {
  type Creator,
  parseCreated,
  parseCreateQuery,
  referenceInUse,
  requireMayName,
  verifySigned,
} from "./reference.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by create's `before`, when the credential has passed. */
    caller?: Awaited<ReturnType<typeof authorize>>;
  }
}

/**
 * Resolves once the record and its reference are durable.
 *
 * @param body any JSON value
 * @returns JSON: the record
 * @throws {InvalidError} with every fault of the intent
 * @throws {Refusal} 403 `forbidden` or `not_signed`, 409 if the reference is in use, 429 above the
 *   limit of the day
 * @throws {UnavailableError} when the record is not known to be durable
 * @throws {CorruptError} when other terms are held for the address
 */
export type CreateRecord = (body: unknown, by: Creator) => Promise<string>;

/** Opens creates of the API and of the dashboard, which share the limit of a day. */
export function openCreate(parts: Parts): CreateRecord {
  const { store, keccak, factory } = parts;
  const bound = boundPerDay(parts);
  return async (body, by) => {
    const { accountId, isClientId, reference, isAgain } = by;
    requireMayName(by);
    const { intent, terms } = await parseCreated(body, by, parts);
    const address = deriveAddress(terms, { factory, keccak });
    await verifySigned(address, by, parts);
    await bound(accountId);
    const owner = { accountId, isClientId, createdAtMs: parts.now() };
    const outcome = await store.saveRecord({ address, terms, ...owner, reference, isAgain });
    if (outcome !== "saved") throw referenceInUse(outcome, parts);
    return recordJson(address, terms, intent, parts);
  };
}

/** Counts valid intents, repeated ones included. @throws {Refusal} 429 above the bound */
function boundPerDay({ accounts, limits }: Parts) {
  const most = limits.addressesPerAccountDay;
  if (most === 0) return async () => {};
  const policy = perDay("addresses-day", most);
  return (accountId: string) =>
    spend(accounts.limiter, policy, accountId, `over ${most} addresses a day`);
}

const repeatable =
  "a create may be repeated as it is: send the intent with its salt, or a reference";

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
      if (request.body === undefined) throw missingBody();
      refuseIdempotencyKey(request, repeatable);
      const { kind, ...caller } = request.caller as NonNullable<typeof request.caller>;
      const by = { ...caller, isClientId: kind === "clientId", ...parseCreateQuery(request) };
      const record = await createRecord(request.body, by);
      reply.header("content-type", jsonType);
      return record;
    },
  };
}
