// Finds what a function's text makes a reader believe though the grammar allows it. These lists may
// grow, so they are asked of new intents and never decide what terms are valid.

import type { AbiFunction } from "../abi/type.ts";
import type { Fault } from "../errors.ts";
import { ownerOfSelector } from "./selectors.ts";

/** `reserved_word` and `selector_clash`, as far as they are true of `found`. */
export function cautionsOf(found: AbiFunction): readonly Fault[] {
  const known = cautionsByFunction.get(found);
  if (known) return known;
  const { signature, names, selector } = found;
  const cautions: Fault[] = [];
  const name = signature.slice(0, signature.indexOf("("));
  if (isReserved(name, "function")) cautions.push(reservedWord(name, "function"));
  for (const parameter of names.split(/[(),]+/))
    if (isReserved(parameter, "parameter")) cautions.push(reservedWord(parameter, "parameter"));
  const owner = ownerOfSelector(selector);
  if (owner !== undefined && owner !== signature) {
    const message = `its selector ${selector} is that of the well-known ${owner}`;
    cautions.push({ code: "selector_clash", message });
  }
  cautionsByFunction.set(found, cautions);
  return cautions;
}

/** Functions recur, and are remembered. */
const cautionsByFunction = new WeakMap<AbiFunction, readonly Fault[]>();

const reservedWord = (word: string, kind: "function" | "parameter"): Fault => ({
  code: "reserved_word",
  message: `${word} is a word of Solidity, not a ${kind} name`,
});

// Reserved words are those of solc 0.8.37: a test asks the compiler about each, in both places.

/** Neither functions nor parameters are named so. */
const words = `abstract address after alias anonymous apply as assembly auto bool break byte bytes
calldata case catch constant constructor continue contract copyof days default define delete do else
emit enum ether event external false final fixed for function gwei hex hours if immutable implements
import in indexed inline int interface internal is let library macro mapping match memory minutes
modifier mutable new null of override partial payable pragma private promise public pure reference
relocatable return returns sealed seconds sizeof static storage string struct supports switch throw
true try type typedef typeof ufixed uint unchecked unicode using var view virtual weeks wei while
years`;

/** Functions may be named so, parameters may not. */
const functionWords = "_ fallback receive super this";

const everywhere: ReadonlySet<string> = new Set(words.split(/\s+/));
const ofParameters: ReadonlySet<string> = new Set(functionWords.split(" "));

/** `uint8`, `bytes32`, `fixed128x18` and their kin; of other widths, as `uint7`, they are free. */
const sizedType = /^(?:u?int([1-9]\d*)|bytes([1-9]\d*)|u?fixed([1-9]\d*)x(0|[1-9]\d*))$/;

function isSizedType(word: string): boolean {
  const found = sizedType.exec(word);
  if (!found) return false;
  const [, intBits, bytes, fixedBits, digits] = found;
  if (bytes !== undefined) return Number(bytes) <= 32;
  const bits = Number(intBits ?? fixedBits);
  return bits % 8 === 0 && bits <= 256 && Number(digits ?? 0) <= 80;
}

/** Whether Solidity lets nothing of this `kind` have the name `word`. */
export const isReserved = (word: string, kind: "function" | "parameter"): boolean =>
  everywhere.has(word) || isSizedType(word) || (kind === "parameter" && ofParameters.has(word));

export const reservedWords: readonly string[] = [...everywhere, ...ofParameters];
