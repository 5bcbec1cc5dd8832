// Finds what a function's text makes a reader believe though the grammar allows it. These lists may
// grow, so they are asked of new intents and never decide what terms are valid.

import type { AbiFunction } from "../abi/type.ts";
import type { Fault } from "../errors.ts";
import { isReserved } from "./reserved.ts";
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
