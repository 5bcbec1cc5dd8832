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
  const twice = findRepeatedKey(text);
  if (twice !== undefined) throw invalid("repeated_field", `field ${twice} stands there twice`);
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
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
