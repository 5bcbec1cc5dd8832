// `executable-address/reference`: the salt that a reference gives an address. Two sides who know
// the account's reference key agree on the address of an order without asking each other, and
// nobody else can make an address that looks like that order's. The key also signs what a page may
// create by a client ID that is bound to it.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { parseAddress } from "../abi/checksum.ts";
import { fromHex, toHex } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { InvalidError, refuseUnknown } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeTerms } from "../intent/terms.ts";
import { verifyRecord } from "../record.ts";

/** Letters, marks, digits, punctuation, symbols and spaces, in Unicode's sense: nothing unseen. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u;
export const referenceKeyPattern = /^svc_ref_[0-9a-f]{64}$/;
/** Bytes of the 32 that the key makes: 128 bits cannot be guessed, and zeros are cheap. */
const saltBytesKept = 16;

/**
 * A reference in its one spelling: trimmed and in Unicode's form NFC, so that what looks the same
 * is the same.
 *
 * @throws {InvalidError} unless it is 1 to 128 printable characters (code points)
 */
export function parseReference(value: unknown): string {
  const reference = typeof value === "string" ? value.trim().normalize("NFC") : "";
  if (printable.test(reference)) return reference;
  const message = "expected one reference of 1 to 128 printable characters";
  throw new InvalidError([{ path: ["reference"], code: "malformed_reference", message }]);
}

/**
 * Derives the salt that the service gives an intent without one: the first 16 bytes of HMAC-SHA256
 * of the reference's UTF-8 under the key's 32 bytes, then 16 zeros. It proves the reference only;
 * {@link saltForOrder} proves the whole intent.
 *
 * @param key `svc_ref_` and 64 lower-case hex digits, as the dashboard shows it once
 * @throws {InvalidError} on a malformed reference, {TypeError} on a malformed key
 */
export function saltFor(reference: string, key: string): Hex {
  return saltOf(underKey(key, parseReference(reference)));
}

function saltOf(mac: Uint8Array): Hex {
  const salt = new Uint8Array(32);
  salt.set(mac.subarray(0, saltBytesKept));
  return toHex(salt);
}

/**
 * Lets a page create `address` by a client ID that is bound: HMAC-SHA256 under the key's 32 bytes
 * of `create`, the address in lower case and the reference, each but the last with a line feed
 * after it. No reference has one, so no salt says anything of a signature.
 *
 * @param address made with the intent's own salt; it commits to every byte of the intent
 * @param reference under which the page may name it, if any
 * @throws {InvalidError} on a malformed address or reference, {TypeError} on a malformed key
 */
export function signatureFor(address: Hex, key: string, reference?: string): Hex {
  const spelled = parseAddress(address, { path: ["address"] }).toLowerCase();
  const named = reference === undefined ? "" : parseReference(reference);
  return toHex(underKey(key, `create\n${spelled}\n${named}`));
}

/** @throws {TypeError} that does not repeat the key */
function underKey(key: string, text: string): Uint8Array {
  if (!referenceKeyPattern.test(key))
    throw new TypeError("expected a reference key: svc_ref_ and 64 lower-case hex digits");
  return hmac(sha256, fromHex(`0x${key.slice(8)}`), new TextEncoder().encode(text));
}

/**
 * Derives a salt that binds an order's whole intent to its reference: the first 16 bytes of
 * HMAC-SHA256 under the key's 32 bytes, then 16 zeros. The message is `order`, the hex of the
 * intent's terms with a salt of zeros, and the reference, separated by line feeds. A salt is
 * public, so one that is made of the reference only can be used again with a lower amount. This one
 * cannot.
 *
 * @throws {InvalidError} on a malformed reference or intent, {TypeError} on a malformed key
 */
export function saltForOrder(
  reference: string,
  intent: Omit<Intent, "salt">,
  key: string,
  { factory = factoryAddress }: TrustOptions = {},
): Hex {
  const terms = encodeTerms({ ...intent, salt: `0x${"00".repeat(32)}` }, { factory });
  return saltOf(underKey(key, `order\n${toHex(terms)}\n${parseReference(reference)}`));
}

type TrustOptions = {
  /** The factory that the caller trusts; default {@link factoryAddress}. */
  readonly factory?: Hex;
};

export type ReferenceOptions = TrustOptions & {
  /**
   * Returns whether the shop asked for this intent under the reference. It is called for a salt of
   * {@link saltFor}, which proves the reference and nothing else: compare at least token, amount,
   * calls and chain.
   */
  readonly accepts?: (intent: Intent) => boolean;
};

/**
 * Proves that `record` is what the holder of the key asked for under `reference`: by a salt of
 * {@link saltForOrder}, or by one of {@link saltFor} if `accepts` returns true.
 *
 * @param keys the account's reference key; after a rotation the old ones too
 * @returns the record in canonical form
 * @throws {InvalidError} as verifyRecord does, or with one of these codes:
 *   - `reference_mismatch`: the salt is of another reference, intent or key
 *   - `reference_only`: the salt proves only the reference, and there is no `accepts`
 *   - `order_mismatch`: `accepts` returned false
 * @throws {TypeError} on a malformed key or an unknown option
 */
export function verifyReference(
  record: unknown,
  reference: string,
  keys: string | readonly string[],
  options: ReferenceOptions = {},
): AddressRecord {
  refuseUnknown(options, "factory, accepts", "option");
  const { factory = factoryAddress, accepts } = options;
  const proved = verifyRecord(record, { factory });
  const { intent } = proved;
  const list = typeof keys === "string" ? [keys] : keys;
  const refuse = (code: string, message: string) =>
    new InvalidError([{ path: ["intent", "salt"], code, message }]);
  if (list.some((key) => saltForOrder(reference, intent, key, { factory }) === intent.salt))
    return proved;
  if (!list.some((key) => saltFor(reference, key) === intent.salt))
    throw refuse(
      "reference_mismatch",
      "expected the salt that this reference gives under the account's key",
    );
  if (!accepts)
    throw refuse(
      "reference_only",
      "this salt proves the reference only; pass `accepts` to compare amount and calls",
    );
  if (accepts(intent)) return proved;
  throw refuse("order_mismatch", "the salt is of this reference, and the intent of another order");
}
