// POST /address/create: spec/service.md §4.1. The operation is idempotent: a repeated request gets
// the same response, byte for byte. The response is sent after the record is durable.

import { parseReference } from "executable-address/reference";
import type { FastifyRequest } from "fastify";
import { dailyCreates, perDay } from "../../accounts/policies.ts";
import { recordJson } from "../../store/record.ts";
import { authorize } from "../authorize/authorize.ts";
import { jsonType, missingBody } from "../errors.ts";
import { parseQuery, refuseIdempotencyKey } from "../input.ts";
import type { Admission } from "../load/admission.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { parseNewIntent } from "./new-intent.ts";
import { type Creator, createInput, parseReferenced, referenceInUse } from "./reference.ts";

/**
 * Creates an address. Resolves after the record and its reference are durable.
 *
 * @param body any JSON value
 * @returns JSON: the record
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 * @throws {Refusal} 403 `forbidden` or `not_signed`, 409 if the reference is in use, or 429 above
 *   the daily limit
 * @throws {UnavailableError} if it is unknown whether the record is durable
 * @throws {CorruptError} if the address's stored record is corrupt
 */
export type CreateRecord = (body: unknown, by: Creator) => Promise<string>;

/**
 * Returns a function that creates addresses. The API and the dashboard share this function and each
 * account's daily limit.
 */
export function openCreate(parts: Parts): CreateRecord {
  const { store } = parts;
  const bound = boundPerDay(parts);
  return async (body, by) => {
    const { accountId, isClientId, isBound, reference, isAgain, signature } = by;
    const isReferenced = reference !== undefined || signature !== undefined || isBound;
    const { address, intent, terms } = isReferenced
      ? await parseReferenced(body, by, parts)
      : parseNewIntent(body, parts);
    await bound(accountId);
    const owner = { accountId, isClientId, createdAtMs: parts.now() };
    const outcome = await store.saveRecord({ address, terms, ...owner, reference, isAgain });
    if (outcome !== "saved") throw referenceInUse(outcome, parts);
    return recordJson(address, terms, intent, parts);
  };
}

/**
 * Limits the number of valid create requests that an account can send per day. A repeated request
 * counts again.
 *
 * @throws {Refusal} 429 above the limit
 */
function boundPerDay({ accounts, limits }: Parts) {
  const most = limits.addressesPerAccountDay;
  if (most === 0) return async () => {};
  const policy = perDay(dailyCreates, most);
  return (accountId: string) =>
    takeOrRefuse(
      accounts.limiter,
      policy,
      accountId,
      `the account exceeded its limit of ${most} create requests per day`,
    );
}

const repeatable = "to repeat a create safely, send the same salt or reference";

export function create(admission: Admission, createRecord: CreateRecord, parts: Parts): Route {
  return {
    // Checks the credential first, so that the body of an unauthorized request is not parsed.
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

/**
 * Parses the query of a create request.
 *
 * @throws {InvalidError} if the query has an unknown or invalid field
 */
export function parseCreateQuery(
  request: FastifyRequest,
): Pick<Creator, "reference" | "isAgain" | "signature"> {
  const { reference, again, signature } = parseQuery(createInput, request);
  return {
    signature,
    reference: reference === undefined ? undefined : parseReference(reference),
    isAgain: again !== undefined,
  };
}
