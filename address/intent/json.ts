// Parses JSON text, and refuses text that parsers understand in different ways.

import { InvalidError } from "../errors.ts";

/**
 * Parses JSON like `JSON.parse`, but refuses repeated keys. If a key is repeated, `JSON.parse` uses
 * the last value and other parsers use the first, so two parsers would read different intents from
 * the same text. A `__proto__` key is an ordinary field.
 *
 * @throws {InvalidError} `not_json` or `repeated_field`
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("not_json", `expected JSON, found ${text.length} other characters`);
  }
  // For each repeated key, the text has one member more than the parsed value.
  if (countMembers(text) !== countKeys(value))
    throw invalid("repeated_field", `field ${findRepeatedKey(text)} is repeated`);
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/**
 * Counts the members of all objects, by counting the colons outside strings.
 *
 * @param text valid JSON
 */
function countMembers(text: string): number {
  let count = 0;
  let isString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) isString = !isString;
    else if (isString && code === backslash) i++;
    else if (code === colon && !isString) count++;
  }
  return count;
}

/** Counts the keys of a JSON value, including the keys of nested objects. */
function countKeys(value: unknown): number {
  let count = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each !== "object" || each === null) continue;
    const values = Object.values(each);
    if (!Array.isArray(each)) count += values.length;
    for (const inner of values) if (typeof inner === "object") waiting.push(inner);
  }
  return count;
}

const stringOrBracketOrColon = /"(?:[^"\\]|\\.)*"|[{}:]/g;

/**
 * Finds the first repeated key of an object, quoted as in the text.
 * @param text valid JSON
 */
function findRepeatedKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let last = "";
  for (const [token] of text.matchAll(stringOrBracketOrColon)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":") {
      const keys = open.at(-1)!;
      const key = last.includes("\\") ? (JSON.parse(last) as string) : last.slice(1, -1);
      if (keys.has(key)) return last;
      keys.add(key);
    } else last = token;
  }
  return undefined;
}
