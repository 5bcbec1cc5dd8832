// What somebody most likely meant who wrote a function the way Solidity or ethers has it, or an
// argument as the JSON value it is about.

import { quoted } from "./errors.ts";
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

/** More items, or more characters, would make no text that a reader compares. */
const itemsMax = 64;

type Spelled = string | Spelled[];

/**
 * The argument that `value`, no string itself, most likely meant, in quotes as JSON text has it: of
 * an array the JSON text of nested arrays of strings. Undefined if it is unsure or long.
 */
export function respellArgument(value: unknown): string | undefined {
  let items = 0;
  const spell = (item: unknown): Spelled | undefined => {
    if (++items > itemsMax) return undefined;
    if (typeof item === "string" && item.length <= textLengthMax) return item;
    if (typeof item === "boolean" || Number.isSafeInteger(item)) return String(item);
    if (!Array.isArray(item) || item.length > itemsMax) return undefined;
    const parts: Spelled[] = [];
    for (const inner of item) {
      const part = spell(inner);
      if (part === undefined) return undefined;
      parts.push(part);
    }
    return parts;
  };
  const spelled = spell(value);
  if (spelled === undefined) return undefined;
  const text = JSON.stringify(typeof spelled === "string" ? spelled : JSON.stringify(spelled));
  return quoted(text) && text;
}
