// Parses the references and signatures of create requests (spec/service.md §4.1).

import { timingSafeEqual } from "node:crypto";
import { formatAddress } from "executable-address";
import { referenceCharactersMax, saltFor, signatureFor } from "executable-address/reference";
import { hash } from "executable-address/shapes";
import { z } from "zod";
import { ensureReferenceKeys } from "../../accounts/reference-keys.ts";
import { once } from "../../flow/together.ts";
import { findByReference } from "../../store/owners.ts";
import type { SaveOutcome } from "../../store/store.ts";
import { Refusal } from "../errors.ts";
import type { Parts } from "../parts.ts";
import { type NewIntent, parseNewIntent } from "./new-intent.ts";

/** The account that creates an address, the kind of its credential, and the query fields. */
export type Creator = {
  accountId: string;
  isClientId: boolean;
  /** Whether the credential is a client ID that needs a signature by the account's server. */
  isBound: boolean;
  /** Whether the request may contain a reference. An account can forbid this for its client ID. */
  mayName: boolean;
  signature: string | undefined;
  reference: string | undefined;
  /**
   * Whether the reference is accepted even if another address of the account already has this
   * reference.
   */
  isAgain: boolean;
};

/**
 * Parses a create request. Derives the salt from the reference if necessary, and verifies the
 * signature.
 *
 * @param body any JSON value
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 * @throws {Refusal} 403 `forbidden` or `not_signed`
 */
export async function parseReferenced(
  body: unknown,
  by: Creator,
  parts: Parts,
): Promise<NewIntent> {
  requireMayName(by);
  const readKeys = once(() => ensureReferenceKeys(parts.store.db, by.accountId, parts.now()));
  const created = await parseSalted(body, by, readKeys, parts);
  await verifySigned(created.address, by, readKeys, parts);
  return created;
}

/**
 * Returns the account's reference keys. The first call reads the keys from the database, and later
 * calls return the same keys. Called only if the request needs a derived salt or a check of its
 * signature.
 */
type ReadKeys = () => ReturnType<typeof ensureReferenceKeys>;

/**
 * @throws {Refusal} 403 `forbidden` if the request has a reference, but its client ID cannot set
 *   references
 */
function requireMayName({ mayName, reference }: Creator): void {
  if (mayName || reference === undefined) return;
  const message = "the account does not accept references from its client ID: omit the reference";
  const issues = [{ path: ["reference"], code: "forbidden", message: "expected none" }];
  throw new Refusal("forbidden", message, { issues });
}

/**
 * Parses the intent. If the salt is missing, derives it from the reference with the newest
 * reference key. Does not derive a salt if the request has a client ID or `again=true`.
 *
 * A repeated request must return the same address, even after a rotation of the reference key.
 * Therefore, if the reference is in use, this function also tries the account's earlier reference
 * keys.
 *
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 */
async function parseSalted(
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
  const created = withKey(newest);
  if (older.length === 0) return created;
  const existing = await findByReference(parts.store.db, accountId, reference);
  if (!existing || existing.equals(created.address)) return created;
  for (const key of older) {
    const earlier = withKey(key);
    if (existing.equals(earlier.address)) return earlier;
  }
  return created;
}

const needsSalt = (body: unknown): body is object =>
  typeof body === "object" &&
  body !== null &&
  !Array.isArray(body) &&
  (body as { salt?: unknown }).salt === undefined;

const noSignature = `0x${"0".repeat(64)}`;

/**
 * Verifies the signature of a create request. A request with a bound client ID must contain a
 * signature. With other credentials, a signature is optional, but it must be valid. The address is
 * a hash of the whole intent. A signature of the address therefore covers every field. Only
 * signatures with the newest key are valid. A leaked key is therefore useless after a rotation.
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
      ? "this client ID accepts only signed intents, but the request has no signature: let the " +
          "account's server create the signature, and send it as &signature="
      : "the signature is invalid: expected the HMAC of this address " +
          `${reference === undefined ? "without a reference" : "and this reference"}, computed ` +
          "with the account's newest reference key",
  );
}

/**
 * Returns the refusal (409 `reference_in_use`) for a create request if the service cannot set the
 * requested reference.
 */
export function referenceInUse(
  outcome: Exclude<SaveOutcome, "saved">,
  { keccak }: Pick<Parts, "keccak">,
): Refusal {
  if (outcome === "exists") {
    const message =
      "this address already exists: a client ID can set a reference only for an address that it " +
      "creates";
    return new Refusal("reference_in_use", message);
  }
  const address = formatAddress(outcome.usedBy, keccak);
  const message = `this reference already belongs to ${address}: to use it again, send again=true`;
  const issues = [{ path: ["reference"], code: "reference_in_use", message: address }];
  return new Refusal("reference_in_use", message, { issues });
}

/**
 * The maximum length of the reference in a request. After the service has trimmed and normalized
 * the reference, the maximum length is `referenceCharactersMax`.
 */
export const untrimmedMax = 300;

/** The query fields of a create request. */
export const createInput = z.strictObject({
  reference: z
    .string()
    .max(untrimmedMax)
    .meta({ minLength: 1 })
    .optional()
    .describe(
      "The account's own name for the address, such as an order number: 1 to " +
        `${referenceCharactersMax} printable characters, after the service has trimmed and ` +
        "normalized them to NFC. Only the account can see it. If an API key sends an intent " +
        "without a salt and without `again`, the service derives the salt from the reference. A " +
        "repeated request then returns the same address. To change the reference of an address, " +
        "create the same intent again with the new reference. A client ID can set a reference " +
        "only for an address that it creates. In lists and events, such a reference is in the " +
        "field `claimedReference`.",
    ),
  again: z
    .literal("true")
    .optional()
    .describe("Allows a reference that another address of the account already has."),
  signature: z
    .string()
    .regex(hash.pattern!, "expected 0x and 64 lowercase hex digits, as returned by signatureFor")
    .optional()
    .describe(
      "The HMAC-SHA256 of the address and the reference. Its key is the account's newest " +
        "reference key. The library's `signatureFor` computes it. A signature is required if the " +
        "client ID accepts only signed intents. An invalid signature is always rejected, even " +
        "with an API key.",
    ),
});
