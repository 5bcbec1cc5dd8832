// An argument must be a string. If an argument is another JSON value, suggests a string.

import { quoted, quotedLengthMax } from "../errors.ts";

/** The maximum number of items in a suggestion. */
const itemsMax = 64;

type Spelled = string | Spelled[];

/**
 * Suggests a string, quoted as JSON, to write instead of the argument `value`. For an array,
 * suggests its JSON text, with every inner value as a string. Returns undefined if the meaning is
 * unclear or the suggestion is too long.
 *
 * @param value an argument that is not a string
 */
export function respellArgument(value: unknown): string | undefined {
  let items = 0;
  const spell = (item: unknown): Spelled | undefined => {
    if (++items > itemsMax) return undefined;
    if (typeof item === "string" && item.length <= quotedLengthMax) return item;
    if (typeof item === "boolean" || Number.isSafeInteger(item)) return String(item);
    if (typeof item === "bigint") return String(item).slice(0, quotedLengthMax);
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
