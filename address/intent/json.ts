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
  const repeated = findRepeatedKey(text);
  if (repeated !== undefined) throw invalid("repeated_field", `field ${repeated} is repeated`);
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
}

/**
 * Calls `visit` with each character outside strings and its position, including the quotes around
 * each string. The number of visited colons is the number of fields of all objects.
 *
 * @param text can be invalid JSON
 */
export function scanJson(text: string, visit: (character: string, at: number) => void): void {
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') isString = !isString;
    else if (isString) {
      if (character === "\\") at++;
      continue;
    }
    visit(character, at);
  }
}

/**
 * Finds the first repeated key of an object, quoted as in the text.
 *
 * @param text valid JSON
 */
function findRepeatedKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let repeated: string | undefined;
  // The quotes around the last string, which is a key if a colon follows.
  let from = 0;
  let to = 0;
  scanJson(text, (character, at) => {
    if (character === '"') [from, to] = [to, at];
    else if (character === "{") open.push(new Set());
    else if (character === "}") open.pop();
    else if (character === ":") {
      const keys = open.at(-1)!;
      const quoted = text.slice(from, to + 1);
      const key = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
      if (keys.has(key)) repeated ??= quoted;
      keys.add(key);
    }
  });
  return repeated;
}
