// Additional rules for new intents. These rules may change between releases. A name must not be
// reserved in Solidity (reserved-words.ts). A selector must not belong to a well-known function
// with a different signature (well-known.ts). The rules of parse.ts never change, because they also
// apply to existing terms.

import type { AbiFunction } from "../abi/cache.ts";
import { getCache } from "../abi/cache.ts";
import { readFunction } from "../abi/function.ts";
import { toHex } from "../abi/hex.ts";
import { addFaults, type Fault, type Issue, noFaults } from "../errors.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import type { Hex, Intent } from "./intent.ts";
import { parseIntent, type TermsOptions, useIntent } from "./parse.ts";
import { findReservedWords } from "./reserved-words.ts";
import { findSelectorClash } from "./well-known.ts";

export type NewIntentOptions = TermsOptions & {
  /**
   * A function that receives the valid fields and returns additional issues. The error lists these
   * issues after all other faults.
   */
  readonly check?: (fields: Partial<Intent>) => readonly Issue[];
};

type Encoded = { readonly intent: Intent; readonly terms: Uint8Array };

/**
 * Parses a new intent and encodes its terms. Generates a salt if the intent has none. Unlike
 * {@link parseIntent}, also rejects the faults that {@link findCautions} finds.
 *
 * @throws {InvalidError} if the intent is invalid; the error lists its faults
 */
export function encodeNewIntent(value: unknown, options: NewIntentOptions = {}): Encoded {
  const asNew = { drawSalt, listCautions, check: options.check };
  return useIntent(value, options, (intent, terms) => ({ intent, terms: terms.slice() }), asNew);
}

/**
 * Finds faults that {@link encodeNewIntent} refuses:
 *
 * - `reserved_word`: a name is reserved in Solidity.
 * - `selector_clash`: a function has the selector of a well-known function with a different
 *   signature.
 *
 * Existing intents with such a fault remain valid, so show a warning to their readers. The lists of
 * names and functions may grow.
 */
export function findCautions(intent: Intent, options: TermsOptions = {}): Issue[] {
  const cache = getCache(chooseKeccak(options));
  const faults = noFaults();
  for (const [index, call] of parseIntent(intent, options).calls.entries()) {
    faults.path.push("calls", index, "function");
    addFaults(faults, listCautions(readFunction(faults, call.function, cache)!));
    faults.path.length = 0;
  }
  return faults.issues;
}

/**
 * Generates a salt of 16 random bytes and 16 zero bytes. The zero bytes save 192 gas in the
 * calldata of an execution. A collision between otherwise equal intents is expected after about
 * 2^64 salts.
 *
 * @returns 32 bytes, lowercase
 */
export function drawSalt(): Hex {
  const salt = new Uint8Array(32);
  crypto.getRandomValues(salt.subarray(0, 16));
  return toHex(salt);
}

/** Returns the `reserved_word` and `selector_clash` faults of a function. */
function listCautions(found: AbiFunction): readonly Fault[] {
  const clash = findSelectorClash(found);
  return [...findReservedWords(found), ...(clash ? [clash] : [])];
}
