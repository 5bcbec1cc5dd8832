// Terms: an intent as bytes, `abi.encode(Intent)`. spec/terms.md §2 is the layout. Each intent has
// one form here and each form one intent, so what is not exactly as written there is refused.

import { type Bytes, parseBytes } from "../abi/hex.ts";
import { parseFactory } from "../derive.ts";
import { keccakOf } from "../keccak/keccak.ts";
import { decodeIntent } from "./decode.ts";
import type { Intent } from "./intent.ts";
import { type TermsOptions, useIntent } from "./parse.ts";

/**
 * The terms of `intent`, which is parsed first: a multiple of 32 bytes, at most 24,576.
 *
 * @returns bytes of the caller's own
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeTerms(intent: Intent, options: TermsOptions = {}): Uint8Array {
  return useIntent(intent, options, (_, terms) => terms.slice());
}

/**
 * The intent that has these terms: `encodeTerms(decodeTerms(terms))` is `terms`, byte for byte. So
 * terms that decode, and derive the address that was asked for, prove the intent.
 *
 * @throws {InvalidError} with the first fault, for any bytes that {@link encodeTerms} does not
 *   give: `malformed_terms` where the layout is at fault, else as of an intent, with the path to it
 */
export function decodeTerms(terms: Bytes, options: TermsOptions = {}): Intent {
  const keccak = keccakOf(options);
  return decodeIntent(parseBytes(terms, []), parseFactory(options.factory, keccak), keccak);
}
