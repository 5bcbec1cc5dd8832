// `executable-address/reference`: the salt that a reference gives an address. Two sides who know
// the account's reference key agree on the address of an order without asking each other, and
// nobody else can make an address that looks like that order's. The key also signs what a page may
// create by a client ID that is bound to it.

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { parseAddress } from "../abi/checksum.ts";
import { fromHex, toHex } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
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
 * HMAC-SHA256 of the reference's UTF-8 under the key's 32 bytes: the first 16 bytes, then 16 zeros.
 *
 * @param key `svc_ref_` and 64 lower-case hex digits, as the dashboard shows it once
 * @throws {InvalidError} on a malformed reference, {TypeError} on a malformed key
 */
export function saltFor(reference: string, key: string): Hex {
  const salt = new Uint8Array(32);
  salt.set(underKey(key, parseReference(reference)).subarray(0, saltBytesKept));
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
 * Proves that `record` was made for the order called `reference`.
 *
 * @param keys the account's reference key; after a rotation the old ones too
 * @param options.factory the factory the caller trusts; default {@link factoryAddress}
 * @returns the record in canonical form
 * @throws {InvalidError} as verifyRecord does, or `reference_mismatch`
 */
export function verifyReference(
  record: unknown,
  reference: string,
  keys: string | readonly string[],
  { factory = factoryAddress }: { readonly factory?: Hex } = {},
): AddressRecord {
  const proved = verifyRecord(record, { factory });
  const list = typeof keys === "string" ? [keys] : keys;
  if (list.some((key) => saltFor(reference, key) === proved.intent.salt)) return proved;
  const message = "expected the salt that this reference gives under the account's key";
  const path = ["intent", "salt"];
  throw new InvalidError([{ path, code: "reference_mismatch", message }]);
}
