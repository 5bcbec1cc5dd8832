// Terms: an intent as bytes, `abi.encode(Intent)`. spec/terms.md §2 is the layout. Each intent has
// one form here and each form one intent, so what is not exactly as written below is refused.

import { viewOf } from "../abi/number.ts";
import { InvalidError } from "../errors.ts";
import type { Keccak } from "../keccak/keccak.ts";
import { decodeIntent } from "./decode.ts";
import type { Hex, Intent } from "./intent.ts";
import { useIntent } from "./parse.ts";

export type TermsOptions = {
  /** The factory that must not be `recovery`. Any letter case; default {@link factoryAddress}. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
};

/**
 * The terms of `intent`: a multiple of 32 bytes, at most 24,576. Quick for what {@link parseIntent}
 * gave, whose terms are remembered; anything else is parsed first.
 *
 * @returns bytes of the caller's own
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeTerms(intent: Intent, options: TermsOptions = {}): Uint8Array {
  return useIntent(intent, options, (_, terms) => terms.slice());
}

/**
 * The intent that has these terms: `encodeTerms(decodeTerms(terms))` is `terms`, byte for byte.
 *
 * @throws {InvalidError} for any bytes that {@link encodeTerms} does not give: path `[]` where the
 *   layout is at fault, else the field's
 */
export function decodeTerms(terms: Uint8Array, options: TermsOptions = {}): Intent {
  return useIntent(decodeIntent(terms, options), options, (intent, canonical) => {
    compare(terms, canonical);
    return intent;
  });
}

/** Both to their ends; canonical terms are whole words, and a word is quicker than its bytes. */
function compare(terms: Uint8Array, canonical: Uint8Array): void {
  const { length } = canonical;
  let at = 0;
  if (terms.length === length) {
    const [view, wanted] = [viewOf(terms), viewOf(canonical)];
    while (at < length && view.getInt32(at) === wanted.getInt32(at)) at += 4;
    if (at === length) return;
  }
  while (terms[at] === canonical[at]) at++;
  const message = `not in canonical form: byte ${at} is not what the intent's terms have there`;
  throw new InvalidError([{ path: [], code: "not_canonical", message }]);
}
