// `executable-address/reference`: derives salts from references. Two parties with the account's
// reference key derive the same address for an order. Without the key, nobody can create another
// address that seems to belong to the order. For a client ID that requires signatures, the key also
// signs addresses.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { parseAddress } from "../abi/checksum.ts";
import { fromHex, toHex } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeLength, InvalidError, refuseUnknown } from "../errors.ts";
import { referenceKeyFormat, referenceKeyPattern } from "../ids.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeTerms } from "../intent/terms.ts";
import { verifyRecord } from "../record.ts";

export { referenceKeyPattern };

/** The maximum length of a reference, in characters (code points). */
export const referenceCharactersMax = 128;
/** The visible Unicode categories: letters, marks, digits, punctuation, symbols, and spaces. */
const printable = new RegExp(
  `^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}]{1,${referenceCharactersMax}}$`,
  "u",
);
/**
 * The number of HMAC bytes in a salt. An HMAC of 128 bits cannot be guessed. The rest of the salt
 * is zeros, which save gas.
 */
const macBytesInSalt = 16;

/**
 * Trims a reference, or a part of one, and normalizes it to Unicode's form NFC. Texts that look the
 * same are then equal.
 */
export const normalizeReference = (text: string): string => text.trim().normalize("NFC");

/**
 * Returns the {@link normalizeReference normalized} reference.
 *
 * @throws {InvalidError} unless the reference has 1 to 128 printable characters (code points)
 */
export function parseReference(value: unknown): string {
  const reference = typeof value === "string" ? normalizeReference(value) : "";
  if (printable.test(reference)) return reference;
  const found = describeLength(value);
  const wanted = `expected one reference of 1 to ${referenceCharactersMax} printable characters`;
  const message = `${wanted}, found ${found}`;
  throw new InvalidError([{ path: ["reference"], code: "malformed_reference", message }]);
}

/**
 * Derives the salt that the service chooses for an intent without a salt. The salt is the first 16
 * bytes of an HMAC-SHA256, followed by 16 zero bytes. The HMAC covers the reference's UTF-8 bytes
 * and uses the key's 32 bytes. A salt from `saltFor` proves only that the address belongs to the
 * reference. A salt from {@link saltForOrder} also proves that the intent is unchanged.
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
 * Signs `address` for a page whose client ID requires signatures. The signature is HMAC-SHA256
 * under the key's 32 bytes. The signed message is `create`, the lowercase address, and the
 * reference, separated by line feeds. The signed message is never equal to a message from which a
 * salt is derived. The message of {@link saltFor} contains no line feed. The message of
 * {@link saltForOrder} begins with `order`.
 *
 * @param address the intent's address, which commits to every byte of the intent, including the
 *   salt
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
    throw new TypeError(
      `expected a reference key: ${referenceKeyFormat}, found ${describeLength(key)}`,
    );
  }
  return hmac(sha256, fromHex(`0x${key.slice(8)}`), new TextEncoder().encode(text));
}

/**
 * Derives a salt that binds an order's whole intent to its reference. The salt is the first 16
 * bytes of an HMAC-SHA256, followed by 16 zero bytes. The HMAC uses the key's 32 bytes. Its message
 * consists of three texts, separated by line feeds:
 *
 * - `order`
 * - the hex of the intent's terms with a salt of zeros
 * - the reference
 *
 * A salt of {@link saltFor} is public, so anyone can copy it into an intent with a lower amount. A
 * salt of `saltForOrder` is valid only in the intent from which it was derived.
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
   * Returns whether the shop requested this intent for the reference. Your function must compare at
   * least the token, amount, calls, and chain with the order. `accepts` is called only for a salt
   * from {@link saltFor}. That salt does not prove that the intent is unchanged.
   */
  readonly accepts?: (intent: Intent) => boolean;
};

/**
 * Proves that the owner of the key requested `record` for `reference`. The salt must be from {@link
 * saltForOrder}. A salt from {@link saltFor} is valid only if `accepts` returns true. If the proof
 * fails, the error has one of these codes:
 *
 * - `reference_mismatch`: the salt belongs to a different reference, intent, or key.
 * - `reference_only`: the salt is from {@link saltFor}, and the option `accepts` is missing.
 * - `order_mismatch`: `accepts` returned false.
 *
 * @param keys the account's reference keys, including old ones after a rotation
 * @returns the record in canonical form
 * @throws {InvalidError} the errors of verifyRecord, or one of the codes above
 * @throws {TypeError} on a malformed key or an unknown option
 */
export function verifyReference(
  record: unknown,
  reference: string,
  keys: string | readonly string[],
  options: ReferenceOptions = {},
): AddressRecord {
  refuseUnknown(options, { factory: 1, accepts: 1 }, "option");
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
      `expected the salt that a reference key derives from this reference, found ${intent.salt}`,
    );
  if (!accepts)
    throw refuse(
      "reference_only",
      "the salt proves the reference, not the amount and calls: pass a function `accepts` to " +
        "check them",
    );
  if (accepts(intent)) return proved;
  throw refuse(
    "order_mismatch",
    "the salt matches the reference, but `accepts` rejected the intent",
  );
}
