// Guesses what somebody meant who wrote a function the way Solidity or ethers has it.

import { parseGrammar } from "./grammar.ts";

/** Longer text than a reader would compare is not respelled. */
const textLengthMax = 200;

/**
 * The canonical spelling of `text`, if it has one: without `function`, location, mutability and
 * `returns` words, with single spaces and with full type names.
 */
export function respell(text: string): string | undefined {
  if (text.length > textLengthMax) return undefined;
  const spelling = withoutTail(text.trim().replace(/^function\s+/, ""))
    .replace(/\btuple\s*\(/g, "(")
    .replace(/\s+/g, " ")
    .replace(/ ?([(,)[\]]) ?/g, "$1")
    .replace(/([)\]])(?=[A-Za-z_$])/g, "$1 ")
    .replace(/,/g, ", ")
    .replace(/ (memory|calldata|storage|payable|indexed)(?= )/g, "")
    .replace(/(?<=[(\s])(uint|int|byte)(?=[ [])/g, (word) => fullNames[word]!);
  return spelling !== text && !Array.isArray(parseGrammar(spelling)) ? spelling : undefined;
}

const fullNames: Readonly<Record<string, string>> = {
  uint: "uint256",
  int: "int256",
  byte: "bytes1",
};

/** `text` up to the parenthesis that closes its first one. */
function withoutTail(text: string): string {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")" && --depth === 0) return text.slice(0, i + 1);
  }
  return text;
}
