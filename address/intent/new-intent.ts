// A new intent: its salt, and the rules that may grow, by which no name is one that Solidity
// reserves and no selector is that of a well-known function under another signature. They are apart
// from the frozen rules of parse.ts so that a page that only verifies does not load these lists.

import { cacheOf } from "../abi/cache.ts";
import { toHex } from "../abi/hex.ts";
import { addFaults, type Issue, noFaults } from "../errors.ts";
import { cautionsOf } from "../function/cautions.ts";
import { readFunction } from "../function/function.ts";
import { keccakOf } from "../keccak/keccak.ts";
import type { Hex, Intent } from "./intent.ts";
import { parseIntent, type TermsOptions, useIntent } from "./parse.ts";

export type NewIntentOptions = TermsOptions & {
  /** Further rules, on the fields that are right in themselves; told with the other issues. */
  readonly check?: (fields: Partial<Intent>) => readonly Issue[];
};

/** An intent and its terms, made in one walk. */
type Encoded = { readonly intent: Intent; readonly terms: Uint8Array };

/**
 * A new intent and its terms: as {@link parseIntent}, but what {@link findCautions} finds is
 * refused with the rest, and a salt is drawn where there is none.
 *
 * @throws {InvalidError} with every fault found, up to 100
 */
export function encodeNewIntent(value: unknown, options: NewIntentOptions = {}): Encoded {
  const asNew = { drawSalt, cautionsOf, check: options.check };
  return useIntent(value, options, (intent, terms) => ({ intent, terms: terms.slice() }), asNew);
}

/**
 * Finds what a reader of `intent` should be warned of and {@link encodeNewIntent} refuses, though
 * such terms are valid for good: names that Solidity keeps for itself (`reserved_word`), and
 * selectors of well-known functions under another signature (`selector_clash`). The lists may grow.
 */
export function findCautions(intent: Intent, options: TermsOptions = {}): Issue[] {
  const cache = cacheOf(keccakOf(options));
  const faults = noFaults();
  for (const [index, call] of parseIntent(intent, options).calls.entries()) {
    faults.path.push("calls", index, "function");
    addFaults(faults, cautionsOf(readFunction(faults, call.function, cache)!));
    faults.path.length = 0;
  }
  return faults.issues;
}

/**
 * Draws a salt: 16 random bytes, then 16 zeros, which are 192 gas cheaper in the calldata of an
 * execution. Two intents that are alike otherwise meet by chance after some 2^64 salts.
 *
 * @returns 32 bytes, lower case
 */
export function drawSalt(): Hex {
  const salt = new Uint8Array(32);
  crypto.getRandomValues(salt.subarray(0, 16));
  return toHex(salt);
}
