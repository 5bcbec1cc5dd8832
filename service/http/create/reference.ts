// The reference of a create: its query fields, the salt that it makes, and the signature that binds
// a client ID to it. spec/service.md §4.1.

import { timingSafeEqual } from "node:crypto";
import { deriveAddress, formatAddress } from "executable-address";
import { parseReference, saltFor, signatureFor } from "executable-address/reference";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { findReferenceKeys } from "../../accounts/reference-keys.ts";
import { findHolder } from "../../store/references.ts";
import type { SaveOutcome } from "../../store/store.ts";
import { Refusal } from "../errors.ts";
import { parseQuery } from "../input/schema.ts";
import type { Parts } from "../parts.ts";
import { parseNewIntent } from "./new-intent.ts";

/** The account that creates an address, by which credential, and the fields of the query. */
export type Creator = {
  accountId: string;
  isClientId: boolean;
  /** A bound client ID creates only what is signed. */
  isBound: boolean;
  /** The account takes references from its client ID. */
  mayName: boolean;
  signature: string | undefined;
  reference: string | undefined;
  /** Another address of the account may have the reference already. */
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
      "The account's own name for this address, such as an order number: 1 to 128 printable " +
        "characters, trimmed and in NFC. Shown only to the account. With an API key it makes the " +
        "salt of an intent without one, so that a repeat returns the same address, and another " +
        "reference for the same intent updates it. A client ID names only addresses that it " +
        "creates, and lists and events show its references as `claimedReference`.",
    ),
  again: z
    .literal("true")
    .optional()
    .describe("Accepts a reference that another address of the account has."),
  signature: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/, "expected 0x and 64 lower-case hex digits, as signatureFor gives")
    .optional()
    .describe(
      "HMAC-SHA256 of the address and the reference under the account's newest reference key, as " +
        "`signatureFor` of the library makes it. A bound client ID needs it; a wrong one is " +
        "refused from every credential.",
    ),
});

/** Parses the query of a create. @throws {InvalidError} on any other field */
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

/** @throws {Refusal} 403 `forbidden` if the account takes no reference from its client ID */
export function requireMayName({ mayName, reference }: Creator): void {
  if (mayName || reference === undefined) return;
  const message = "this account takes no reference from its client ID: leave it out";
  const issues = [{ path: ["reference"], code: "forbidden", message: "expected none" }];
  throw new Refusal("forbidden", message, { issues });
}

/**
 * Parses the intent of a create. If a server sends a reference and no salt, the account's reference
 * key makes the salt; for an address made before a rotation, the key of that time does.
 *
 * @throws {InvalidError} with every fault of the intent
 */
export async function parseCreated(body: unknown, by: Creator, parts: Parts): Promise<NewIntent> {
  const { accountId, isClientId, isAgain, reference } = by;
  if (reference === undefined || isClientId || isAgain || !needsSalt(body))
    return parseNewIntent(body, parts);
  const { db } = parts.store;
  const withKey = (key: string) =>
    parseNewIntent({ ...body, salt: saltFor(reference, key) }, parts);
  const [newest, ...older] = await findReferenceKeys(db, accountId, parts.now());
  const intent = withKey(newest);
  if (older.length === 0) return intent;
  const holder = await findHolder(db, accountId, reference);
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
 * Verifies the signature of a create, if there is one or the client ID is bound. The address
 * commits to every byte of the intent, so the signature covers token, payee, amount, and expiry.
 * Only the newest key signs, because a rotation ends what a leaked key allowed.
 *
 * @throws {Refusal} 403 `not_signed`
 */
export async function verifySigned(address: Uint8Array, by: Creator, parts: Parts): Promise<void> {
  const { accountId, isBound, reference, signature } = by;
  if (signature === undefined && !isBound) return;
  const [key] = await findReferenceKeys(parts.store.db, accountId, parts.now());
  const wanted = signatureFor(formatAddress(address, parts.keccak), key, reference);
  if (timingSafeEqual(Buffer.from(wanted), Buffer.from(signature ?? noSignature))) return;
  throw new Refusal(
    "not_signed",
    signature === undefined
      ? "this client ID is bound: it creates what the account's server signed, by &signature="
      : "the signature is not by the newest reference key of this very address and " +
          (reference === undefined ? "no reference" : "reference"),
  );
}

/** Returns the 409 `reference_in_use` of a create that was not saved. */
export function referenceInUse(
  outcome: Exclude<SaveOutcome, "saved">,
  { keccak }: Pick<Parts, "keccak">,
): Refusal {
  if (outcome === "exists") {
    const message =
      "this address exists, and a client ID is public, so it names only addresses that it makes";
    return new Refusal("reference_in_use", message);
  }
  const holder = formatAddress(outcome.heldBy, keccak);
  const message = `the account calls ${holder} so: look it up, or say again=true`;
  const issues = [{ path: ["reference"], code: "reference_in_use", message: holder }];
  return new Refusal("reference_in_use", message, { issues });
}
