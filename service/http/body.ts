// From the bytes of a body to a JSON value that has one reading.

import { isUtf8 } from "node:buffer";
import { InvalidError } from "executable-address";
import type { FastifyRequest } from "fastify";
import { Refusal } from "./errors.ts";

/**
 * Fastify's parser for application/json. `JSON.parse` alone lets the last of two equal keys win,
 * and others the first: an intent that two readers understand differently must not become money.
 * A `__proto__` key stays an ordinary, unknown field, which the library refuses.
 */
export function parseJsonBody(
  request: FastifyRequest,
  bytes: string | Buffer,
  done: (error: Error | null, value?: unknown) => void,
): void {
  try {
    const { "content-type": type = "", "content-encoding": encoding } = request.headers;
    const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(type)?.[1];
    if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
      throw new Refusal("unsupported_media_type", "JSON is UTF-8; send no other charset");
    }
    if (encoding !== undefined && encoding !== "identity") {
      throw new Refusal("unsupported_media_type", "send the body without Content-Encoding");
    }
    done(null, parseJson(bytes as Buffer));
  } catch (error) {
    done(error as Error);
  }
}

/** @throws {InvalidError} */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid("not_utf8", "the body is not UTF-8");
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("not_json", "the body is not JSON");
  }
  // A repeated key is a member in the text and none in the value.
  if (countMembers(bytes) !== countKeys(value)) {
    throw invalid("repeated_field", `field ${findRepeatedKey(text)} stands there twice`);
  }
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** Of all objects in the text: the colons outside its strings. @param bytes valid JSON, UTF-8 */
function countMembers(bytes: Buffer): number {
  let count = 0;
  let isString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) isString = !isString;
    else if (isString && byte === backslash) i++;
    else if (byte === colon && !isString) count++;
  }
  return count;
}

/** Of a JSON value and all within it. */
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

/** @param text valid JSON @returns the first key given twice in one object, as written, quoted */
function findRepeatedKey(text: string): string | undefined {
  const open: Set<string>[] = [];
  let last = "";
  for (const [token] of text.matchAll(stringOrBracketOrColon)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (token === ":") {
      const keys = open.at(-1) as Set<string>;
      const key = last.includes("\\") ? (JSON.parse(last) as string) : last.slice(1, -1);
      if (keys.has(key)) return last;
      keys.add(key);
    } else last = token;
  }
  return undefined;
}
