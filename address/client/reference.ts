// `executable-address/reference`: derives salts from references. Two parties with the account's
// reference key derive the same address for an order. Without the key, nobody can create another
// address that seems to belong to the order. If a client ID requires signatures, the key also signs
// the addresses that a page may create.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { parseAddress } from "../abi/checksum.ts";
import { fromHex, toHex } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeLength, InvalidError, refuseUnknown } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeTerms } from "../intent/terms.ts";
import { verifyRecord } from "../record.ts";

/** The visible Unicode categories: letters, marks, digits, punctuation, symbols, and spaces. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u;
export const referenceKeyPattern = /^svc_ref_[0-9a-f]{64}$/;
/**
 * The number of MAC bytes in a salt. 128 bits cannot be guessed, and the zeros in the rest of the
 * salt save gas.
 */
const macBytesInSalt = 16;

/**
 * Normalizes a reference: trimmed and in Unicode's form NFC, so that texts that look the same are
 * equal.
 *
 * @throws {InvalidError} unless it is 1 to 128 printable characters (code points)
 */
export function parseReference(value: unknown): string {
  const reference = typeof value === "string" ? value.trim().normalize("NFC") : "";
  if (printable.test(reference)) return reference;
  const found = describeLength(value);
  const message = `expected one reference of 1 to 128 printable characters, found ${found}`;
  throw new InvalidError([{ path: ["reference"], code: "malformed_reference", message }]);
}

/**
 * Derives the salt that the service chooses for an intent without a salt. The salt is the first 16
 * bytes of HMAC-SHA256 of the reference's UTF-8 bytes under the key's 32 bytes, followed by 16 zero
 * bytes. This salt proves only the reference. {@link saltForOrder} proves the whole intent.
 *
 * @param key `svc_ref_` followed by 64 lowercase hex digits; the dashboard shows the key once
 * @throws {InvalidError} on a malformed reference, {TypeError} on a malformed key
 */
export function saltFor(reference: string, key: string): Hex {
  return cutSalt(underKey(key, parseReference(reference)));
}

function cutSalt(mac: Uint8Array): Hex {
  const salt = new Uint8Array(32);
  salt.set(mac.subarray(0, macBytesInSalt));
  return toHex(salt);
}

/**
 * Signs `address`, so that a page can create the address with a client ID that requires signatures.
 * The signature is HMAC-SHA256 under the key's 32 bytes. The signed message is `create`, the
 * lowercase address, and the reference, separated by line feeds. No salt has the same message: the
 * message of {@link saltFor} is a reference, which contains no line feed, and the message of {@link
 * saltForOrder} begins with `order`.
 *
 * @param address the address of the intent with its salt; it commits to every byte of the intent
 * @param reference the reference that the page may use, if any
 * @throws {InvalidError} on a malformed address or reference, {TypeError} on a malformed key
 */
export function signatureFor(address: Hex, key: string, reference?: string): Hex {
  const spelled = parseAddress(address, { path: ["address"] }).toLowerCase();
  const named = reference === undefined ? "" : parseReference(reference);
  return toHex(underKey(key, `create\n${spelled}\n${named}`));
}

/** @throws {TypeError} whose message does not contain the key */
function underKey(key: string, text: string): Uint8Array {
  if (!referenceKeyPattern.test(key)) {
    const wanted = "a reference key: svc_ref_ and 64 lowercase hex digits";
    throw new TypeError(`expected ${wanted}, found ${describeLength(key)}`);
  }
  return hmac(sha256, fromHex(`0x${key.slice(8)}`), new TextEncoder().encode(text));
}

/**
 * Derives a salt that binds an order's whole intent to its reference: the first 16 bytes of
 * HMAC-SHA256 with the key's 32 bytes, then 16 zero bytes. The message is `order`, the hex of the
 * intent's terms with a salt of zeros, and the reference, separated by line feeds. Salts are
 * public, so anyone can copy a salt of {@link saltFor} into an intent with a lower amount. A salt
 * of this function is valid only in its own intent.
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
  return cutSalt(underKey(key, `order\n${toHex(terms)}\n${parseReference(reference)}`));
}

type TrustOptions = {
  /** The trusted factory. Default {@link factoryAddress}. */
  readonly factory?: Hex;
};

export type ReferenceOptions = TrustOptions & {
  /**
   * Returns whether the shop requested this intent for the reference. Called only if the salt is
   * from {@link saltFor}, because such a salt proves only the reference. Compare at least the
   * token, amount, calls, and chain.
   */
  readonly accepts?: (intent: Intent) => boolean;
};

/**
 * Proves that the owner of the key requested `record` for `reference`. The salt must be from {@link
 * saltForOrder}. A salt from {@link saltFor} is valid only if `accepts` returns true.
 *
 * @param keys the account's reference keys, including old ones after a rotation
 * @returns the record in canonical form
 * @throws {InvalidError} the errors of verifyRecord, or one of these codes: - `reference_mismatch`:
 *   the salt belongs to a different reference, intent, or key - `reference_only`: the salt proves
 *   only the reference, and there is no `accepts` - `order_mismatch`: `accepts` returned false
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
      `expected the salt of this reference under the account's key, found ${intent.salt}`,
    );
  if (!accepts)
    throw refuse(
      "reference_only",
      "expected `accepts`, which checks the amount and the calls, found nothing: the salt proves " +
        "only the reference",
    );
  if (accepts(intent)) return proved;
  throw refuse(
    "order_mismatch",
    "expected the intent of this order, found another intent with the salt of its reference",
  );
}
