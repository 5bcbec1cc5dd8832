// From the bytes of a body to a JSON value that has one reading.

import { isUtf8 } from "node:buffer";
import { InvalidError, parseJson as parseJsonText } from "executable-address";
import type { FastifyRequest } from "fastify";
import { Refusal } from "./errors.ts";

/** Fastify's parser for application/json. */
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
  if (isUtf8(bytes)) return parseJsonText(bytes.toString("utf8"));
  throw new InvalidError([{ path: [], code: "not_utf8", message: "the body is not UTF-8" }]);
}
