// POST /address/create: spec/service.md §4.1. The operation is idempotent: the same intent always
// gets the same response, byte for byte. The response is sent after the record is durable.
//
// This file also contains the rules that only this service has for new intents (listed chains and
// tokens, expiration times), and everything about references: the query fields, the salts that are
// derived from references, and the signatures that a bound client ID must send.

import { timingSafeEqual } from "node:crypto";
import {
  deriveAddress,
  encodeNewIntent,
  formatAddress,
  type Intent,
  type Issue,
} from "executable-address";
import { parseReference, saltFor, signatureFor } from "executable-address/reference";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { dailyCreates, perDay } from "../../accounts/limits.ts";
import { findReferenceKeys } from "../../accounts/reference-keys.ts";
import type { Chains } from "../../chain/registry.ts";
import { findHolder } from "../../store/owners.ts";
import { recordJson } from "../../store/record.ts";
import type { SaveOutcome } from "../../store/store.ts";
import { authorize } from "../authorize/authorize.ts";
import { jsonType, missingBody, Refusal } from "../errors.ts";
import { parseQuery } from "../input.ts";
import type { Admission } from "../load/admission.ts";
import { spend } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import { type Route, refuseIdempotencyKey } from "../routes.ts";

/**
 * Creates an address. Resolves after the record and its reference are durable.
 *
 * @param body any JSON value
 * @returns JSON: the record
 * @throws {InvalidError} with every fault of the intent
 * @throws {Refusal} 403 `forbidden` or `not_signed`, 409 if the reference is in use, or 429 above
 *   the daily limit
 * @throws {UnavailableError} if it is unknown whether the record is durable
 * @throws {CorruptError} if the store has different terms for the address
 */
export type CreateRecord = (body: unknown, by: Creator) => Promise<string>;

/**
 * Returns a function that creates addresses. The API and the dashboard use the same function, so
 * that an account has one daily limit for both.
 */
export function openCreate(parts: Parts): CreateRecord {
  const { store, keccak, factory } = parts;
  const bound = boundPerDay(parts);
  return async (body, by) => {
    const { accountId, isClientId, reference, isAgain } = by;
    requireMayName(by);
    const readKeys = once(() => findReferenceKeys(store.db, accountId, parts.now()));
    const { intent, terms } = await parseCreated(body, by, readKeys, parts);
    const address = deriveAddress(terms, { factory, keccak });
    await verifySigned(address, by, readKeys, parts);
    await bound(accountId);
    const owner = { accountId, isClientId, createdAtMs: parts.now() };
    const outcome = await store.saveRecord({ address, terms, ...owner, reference, isAgain });
    if (outcome !== "saved") throw referenceInUse(outcome, parts);
    return recordJson(address, terms, intent, parts);
  };
}

type ReadKeys = () => ReturnType<typeof findReferenceKeys>;

/**
 * Returns a function that calls `read` at most once and caches the result. A create request can
 * need the reference keys for its salt, its signature, both, or neither.
 */
function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

/**
 * Limits the number of create requests with a valid intent per account and day, including
 * repetitions.
 *
 * @throws {Refusal} 429 above the limit
 */
function boundPerDay({ accounts, limits }: Parts) {
  const most = limits.addressesPerAccountDay;
  if (most === 0) return async () => {};
  const policy = perDay(dailyCreates, most);
  return (accountId: string) =>
    spend(accounts.limiter, policy, accountId, `the account exceeded ${most} addresses per day`);
}

const repeatable = "to repeat a create safely, send the same salt or reference";

export function create(admission: Admission, createRecord: CreateRecord, parts: Parts): Route {
  return {
    // Checks the credential before the body is read, so that the body of an unauthorized request is
    // never parsed.
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

type IntentParts = Pick<Parts, "chains" | "factory" | "keccak" | "limits" | "now">;

/**
 * @param body any JSON value; an intent without `salt` gets a random salt
 * @returns the intent and its terms
 * @throws {InvalidError} with every fault
 */
export function parseNewIntent(body: unknown, parts: IntentParts) {
  return encodeNewIntent(body, {
    factory: parts.factory,
    keccak: parts.keccak,
    check: (fields) => [...listing(fields, parts.chains), ...expiry(fields, parts)],
  });
}

/** spec §4.3: the chain must be listed, and the token must be one of the chain's tokens. */
function listing({ chainId, token }: Partial<Intent>, chains: Chains): Issue[] {
  if (chainId === undefined) return [];
  const chain = chains.isListed(chainId) ? chains.find(chainId) : undefined;
  if (!chain) {
    const ids = chains.listed().map((each) => each.chainId);
    const message = `chain ${chainId} is not listed; expected one of: ${ids.join(", ") || "none"}`;
    return [{ path: ["chainId"], code: "chain_not_listed", message }];
  }
  if (token === undefined || chain.tokens.some(({ address }) => address === token)) return [];
  const similar = chain.lookalikes.find(({ address }) => address === token);
  if (similar) {
    const meant = chain.tokens.find(({ symbol }) => symbol === similar.looksLike)!;
    const message =
      `${similar.name} (${similar.symbol}) is not accepted on chain ${chainId} (${chain.name}); ` +
      `did you mean ${meant.symbol} ${meant.address}?`;
    return [{ path: ["token"], code: "token_not_listed", message }];
  }
  const listed = chain.tokens.map(({ symbol, address }) => `${symbol} ${address}`).join(", ");
  const message =
    `the token is not listed for chain ${chainId} (${chain.name}); ` + `expected one of: ${listed}`;
  return [{ path: ["token"], code: "token_not_listed", message }];
}

/**
 * Requires an expiration time that is far enough in the future, because money that arrives after it
 * goes to `recovery` and not to the payee.
 */
function expiry({ expirationTimestamp }: Partial<Intent>, { limits, now }: IntentParts): Issue[] {
  if (expirationTimestamp === undefined) return [];
  const nowSeconds = Math.floor(now() / 1000);
  const earliest = nowSeconds + limits.expirySecondsMin;
  const latest = nowSeconds + limits.expirySecondsMax;
  if (expirationTimestamp >= earliest && expirationTimestamp <= latest) return [];
  const isEarly = expirationTimestamp < earliest;
  const asSeconds = Math.floor(expirationTimestamp / 1000);
  const isMilliseconds = asSeconds >= earliest && asSeconds <= latest;
  const hint = isMilliseconds ? `; the value looks like milliseconds: write ${asSeconds}` : "";
  const wanted = `expected Unix seconds from ${earliest} to ${latest}`;
  const message = `${wanted}, found ${expirationTimestamp}${hint}`;
  const code = isEarly ? "expires_too_soon" : "expires_too_late";
  return [{ path: ["expirationTimestamp"], code, message }];
}

/** The account that creates an address, the kind of its credential, and the fields of the query. */
export type Creator = {
  accountId: string;
  isClientId: boolean;
  /** Whether the credential is a bound client ID, which can create only signed addresses. */
  isBound: boolean;
  /** Whether the account accepts references from its client ID. */
  mayName: boolean;
  signature: string | undefined;
  reference: string | undefined;
  /** Whether the reference is accepted even if another address of the account already has it. */
  isAgain: boolean;
};
type NewIntent = ReturnType<typeof parseNewIntent>;

export const createInput = z.strictObject({
  reference: z
    .string()
    .max(300)
    .meta({ minLength: 1, maxLength: 256 })
    .optional()
    .describe(
      "The account's own name for the address, such as an order number: 1 to 128 printable " +
        "characters, which are trimmed and normalized to NFC. Only the account can see it. With " +
        "an API key, an intent without a salt gets a salt that is derived from the reference, " +
        "so a repeated request returns the same address. To change the reference of an address, " +
        "create the same intent again with the new reference. A client ID can set a reference " +
        "only for an address that it creates. Lists and events show references of client IDs as " +
        "`claimedReference`.",
    ),
  again: z
    .literal("true")
    .optional()
    .describe("Allows a reference that another address of the account already has."),
  signature: z
    .string()
    .regex(
      /^0x[0-9a-f]{64}$/,
      "expected 0x and 64 lowercase hex digits, as returned by signatureFor",
    )
    .optional()
    .describe(
      "The HMAC-SHA256 of the address and the reference under the account's newest reference " +
        "key, as computed by the library's `signatureFor`. A signature is required if the client " +
        "ID accepts only signed intents. An invalid signature is rejected for every credential.",
    ),
});

/**
 * Parses the query of a create request.
 *
 * @throws {InvalidError} for any other field
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

/**
 * @throws {Refusal} 403 `forbidden` if the account does not accept references from its client ID
 */
function requireMayName({ mayName, reference }: Creator): void {
  if (mayName || reference === undefined) return;
  const message = "the account does not accept references from its client ID: omit the reference";
  const issues = [{ path: ["reference"], code: "forbidden", message: "expected none" }];
  throw new Refusal("forbidden", message, { issues });
}

/**
 * Parses the intent of a create request. If the request has an API key and a reference but no salt,
 * derives the salt from the reference with the account's newest reference key. If the reference
 * already belongs to an address whose salt was derived with an older key, uses that key, so that a
 * repeated request returns the same address.
 *
 * @throws {InvalidError} with every fault of the intent
 */
async function parseCreated(
  body: unknown,
  by: Creator,
  readKeys: ReadKeys,
  parts: Parts,
): Promise<NewIntent> {
  const { accountId, isClientId, isAgain, reference } = by;
  if (reference === undefined || isClientId || isAgain || !needsSalt(body))
    return parseNewIntent(body, parts);
  const withKey = (key: string) =>
    parseNewIntent({ ...body, salt: saltFor(reference, key) }, parts);
  const [newest, ...older] = await readKeys();
  const intent = withKey(newest);
  if (older.length === 0) return intent;
  const holder = await findHolder(parts.store.db, accountId, reference);
  const isHeld = ({ terms }: NewIntent) => holder?.equals(deriveAddress(terms, parts));
  return isHeld(intent) ? intent : (older.map(withKey).find(isHeld) ?? intent);
}

const needsSalt = (body: unknown): body is object =>
  typeof body === "object" &&
  body !== null &&
  !Array.isArray(body) &&
  (body as { salt?: unknown }).salt === undefined;

const noSignature = `0x${"0".repeat(64)}`;

/**
 * Verifies the signature of a create request if the request has one or the client ID is bound. The
 * address is a hash of the whole intent, so a signature of the address covers the token, the payee,
 * the amount, and the expiration time. Only the newest key is valid, so that a rotation makes a
 * leaked key useless.
 *
 * @throws {Refusal} 403 `not_signed`
 */
async function verifySigned(
  address: Uint8Array,
  { isBound, reference, signature }: Creator,
  readKeys: ReadKeys,
  parts: Parts,
): Promise<void> {
  if (signature === undefined && !isBound) return;
  const [key] = await readKeys();
  const wanted = signatureFor(formatAddress(address, parts.keccak), key, reference);
  if (timingSafeEqual(Buffer.from(wanted), Buffer.from(signature ?? noSignature))) return;
  throw new Refusal(
    "not_signed",
    signature === undefined
      ? "this client ID accepts only signed intents: send the signature from the account's " +
          "server as &signature="
      : "the signature does not match: expected the account's newest reference key, this " +
          "address, and " +
          (reference === undefined ? "no reference" : "this reference"),
  );
}

/**
 * Returns the refusal (409 `reference_in_use`) if the store did not save the record because of its
 * reference.
 */
function referenceInUse(
  outcome: Exclude<SaveOutcome, "saved">,
  { keccak }: Pick<Parts, "keccak">,
): Refusal {
  if (outcome === "exists") {
    const message =
      "this address already exists, and a client ID can set the reference only of an address " +
      "that it creates";
    return new Refusal("reference_in_use", message);
  }
  const holder = formatAddress(outcome.usedBy, keccak);
  const message = `this reference already belongs to ${holder}: to use it again, send again=true`;
  const issues = [{ path: ["reference"], code: "reference_in_use", message: holder }];
  return new Refusal("reference_in_use", message, { issues });
}
