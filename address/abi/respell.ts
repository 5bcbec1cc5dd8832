// Suggests the right text for an argument that was written as a JSON value and not as a string.

import { quoted } from "../errors.ts";

/** Longer text than a reader would compare is not respelled. */
const textLengthMax = 200;

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
    if (typeof item === "bigint") return String(item).slice(0, textLengthMax);
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
