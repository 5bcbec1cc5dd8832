// The reserved words of solc 0.8.37. A test compiles each word as a function name and as a
// parameter name.

import type { AbiFunction } from "../abi/cache.ts";
import type { Fault } from "../errors.ts";

/** Returns the `reserved_word` faults in a function's name and in its parameters' names. */
export function findReservedWords({ signature, names }: AbiFunction): Fault[] {
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

export const reservedWords: readonly string[] = [...everywhere, ...ofParameters];
