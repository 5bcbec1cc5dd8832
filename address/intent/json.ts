// Parses JSON text, and refuses text that parsers understand in different ways.

import { InvalidError } from "../errors.ts";

/**
 * Parses JSON like `JSON.parse`, but refuses repeated keys. `JSON.parse` uses the last of two
 * repeated keys, and other parsers use the first. Two parsers would therefore read different
 * intents from the same text. A `__proto__` key is an ordinary field.
 *
 * @throws {InvalidError} `not_json` or `repeated_field`
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("not_json", `expected valid JSON, found ${text.length} characters`);
  }
  const repeated = findRepeatedKey(text);
  if (repeated !== undefined) throw invalid("repeated_field", `field ${repeated} is repeated`);
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
}

const quote = 0x22;

/**
 * Scans JSON text without parsing it, for example to count fields by their colons. Calls `visit`
 * for each occurrence of one of the `characters`, except in strings. Stops if `visit` returns true.
 * The quotes around a string count as outside the string.
 *
 * @param text can be invalid JSON
 * @param characters ASCII
 */
export function scanJson(
  text: string,
  characters: string,
  visit: (character: string, at: number) => boolean | undefined,
): void {
  const isVisited = new Uint8Array(128);
  for (const character of characters) isVisited[character.charCodeAt(0)] = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isVisited[code] === 1 && visit(text[at]!, at)) return;
    if (code !== quote) continue;
    at = endOfString(text, at);
    if (isVisited[quote] === 1 && at < text.length && visit('"', at)) return;
  }
}

/**
 * Returns the position of the quote that closes a string. Returns the length of the text if the
 * string is not closed.
 */
function endOfString(text: string, opening: number): number {
  for (let at = opening; ; ) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return text.length;
    let before = at - 1;
    while (text[before] === "\\") before--;
    const isEscaped = (at - before) % 2 === 0;
    if (!isEscaped) return at;
  }
}

/**
 * Finds the first key that occurs twice in the same object. Returns the key with its quotes and
 * escapes, as in `text`.
 *
 * @param text valid JSON
 */
function findRepeatedKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let repeated: string | undefined;
  // The positions of the quotes around the last string. If a colon follows, the string is a key.
  let from = 0;
  let to = 0;
  scanJson(text, '"{}:', (character, at) => {
    if (character === '"') [from, to] = [to, at];
    else if (character === "{") open.push(new Set());
    else if (character === "}") open.pop();
    else {
      const keys = open.at(-1)!;
      const quoted = text.slice(from, to + 1);
      const key = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
      if (keys.has(key)) repeated ??= quoted;
      keys.add(key);
    }
  });
  return repeated;
}
