// Additional rules for new intents. These rules may change between releases. A name must not be one
// of the reserved words of solc 0.8.37. A selector must not belong to a well-known function with a
// different signature (well-known.ts). The rules of parse.ts never change, because they also apply
// to existing terms.

import type { AbiFunction } from "../abi/cache.ts";
import { getCache } from "../abi/cache.ts";
import { readFunction } from "../abi/function.ts";
import { toHex } from "../abi/hex.ts";
import { addFaults, type Fault, type Issue, noFaults } from "../errors.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import type { Hex, Intent } from "./intent.ts";
import { parseIntent, type TermsOptions, useIntent } from "./parse.ts";
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

/** Returns the `reserved_word` faults in a function's name and in its parameters' names. */
function findReservedWords({ signature, names }: AbiFunction): Fault[] {
  const name = signature.slice(0, signature.indexOf("("));
  const parameters = names.split(/[(),]+/).filter((each) => isReserved(each, "parameter"));
  return [
    ...(isReserved(name, "function") ? [reservedWord(name, "function")] : []),
    ...parameters.map((each) => reservedWord(each, "parameter")),
  ];
}

const reservedWord = (word: string, kind: "function" | "parameter"): Fault => ({
  code: "reserved_word",
  message: `expected a different ${kind} name: ${word} is a reserved word of Solidity`,
});

/** Neither functions nor parameters can have these names. */
const words = `abstract address after alias anonymous apply as assembly auto bool break byte bytes
calldata case catch constant constructor continue contract copyof days default define delete do else
emit enum ether event external false final fixed for function gwei hex hours if immutable implements
import in indexed inline int interface internal is let library macro mapping match memory minutes
modifier mutable new null of override partial payable pragma private promise public pure reference
relocatable return returns sealed seconds sizeof static storage string struct supports switch throw
true try type typedef typeof ufixed uint unchecked unicode using var view virtual weeks wei while
years`;

/** Words that can be the name of a function but not the name of a parameter. */
const parameterOnlyWords = "_ fallback receive super this";

const everywhere: ReadonlySet<string> = new Set(words.split(/\s+/));
const ofParameters: ReadonlySet<string> = new Set(parameterOnlyWords.split(" "));

/**
 * Sized types such as `uint8`, `bytes32`, and `fixed128x18`. Also matches invalid types such as
 * `uint7`, which are not reserved.
 */
const sizedType = /^(?:u?int([1-9]\d*)|bytes([1-9]\d*)|u?fixed([1-9]\d*)x(0|[1-9]\d*))$/;

function isSizedType(word: string): boolean {
  const found = sizedType.exec(word);
  if (!found) return false;
  const [, intBits, bytes, fixedBits, digits] = found;
  if (bytes !== undefined) return Number(bytes) <= 32;
  const bits = Number(intBits ?? fixedBits);
  return bits % 8 === 0 && bits <= 256 && Number(digits ?? 0) <= 80;
}

/** Returns whether Solidity refuses `word` as the name of a function or a parameter. */
export const isReserved = (word: string, kind: "function" | "parameter"): boolean =>
  everywhere.has(word) || isSizedType(word) || (kind === "parameter" && ofParameters.has(word));

/** A test compiles each word as a function name and as a parameter name. */
export const reservedWords: readonly string[] = [...everywhere, ...ofParameters];
