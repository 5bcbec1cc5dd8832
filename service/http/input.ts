// Parses a request: the address in the path, the query, and the body. Rejects ambiguous input, and
// reports each fault with its path. Also refuses the unsupported header `Idempotency-Key`.

import { isUtf8 } from "node:buffer";
import {
  InvalidError,
  type Issue,
  isAddress,
  parseJson as parseJsonText,
} from "executable-address";
import { describeLength, scanJson } from "executable-address/shapes";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { foundText, Refusal } from "./errors.ts";

/** Returns a pattern for `0x` and exactly `2 * bytes` hex digits, in any letter case. */
export const hexPattern = (bytes: number) => new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`);

/** Returns the path's `:address` parameter. */
export const addressOf = ({ params }: FastifyRequest) => (params as { address?: string }).address;

/**
 * Returns the 40 hex digits of an address in lowercase. Accepts digits in uppercase or lowercase.
 */
export function addressDigits(text: string | undefined): string {
  if (isAddress(text)) return text.slice(2).toLowerCase();
  throw malformedAddress(text);
}

/** @param hint follows the message, such as "; /v1/address/create accepts only POST" */
export function malformedAddress(text: string | undefined, hint = ""): Refusal {
  const path = ["address"];
  const message = `expected an address: 0x and 40 hex digits, found ${foundText(text)}${hint}`;
  return new Refusal("invalid_request", message, {
    issues: [{ path, code: "malformed_address", message }],
  });
}

/**
 * Parses `value` with the schema. Rejects NUL characters in text, because PostgreSQL cannot store
 * them.
 *
 * @throws {InvalidError} with the schema's messages
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const parsed = schema.safeParse(value ?? {}, { reportInput: true });
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, code, message, input }) => ({
      path: path.map((step) => (typeof step === "number" ? step : String(step))),
      code,
      message: /received|found|Unrecognized/.test(message)
        ? message
        : `${message}, found ${describeInput(input)}`,
    }));
    throw new InvalidError(issues);
  }
  const issues = nulsIn(parsed.data, []);
  if (issues.length > 0) throw new InvalidError(issues);
  return parsed.data;
}

/**
 * Parses a request's query.
 *
 * @throws {InvalidError} like {@link parseInput}, and if the percent-encoding is not UTF-8
 */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, request: FastifyRequest) {
  const { url = "" } = request.raw;
  try {
    if (url.includes("%")) decodeURIComponent(url.slice(url.indexOf("?")));
  } catch {
    const { length } = url.slice(url.indexOf("?") + 1);
    const found = `a query of ${length} characters with invalid escapes`;
    const message = `expected valid percent-encoded UTF-8, found ${found}`;
    throw new InvalidError([{ path: ["query"], code: "bad_escape", message }]);
  }
  return parseInput(schema, request.query);
}

const noFields = z.strictObject({});

/**
 * Returns a preHandler hook that refuses unexpected fields. If the operation has no query, the hook
 * refuses all query fields. The same applies to the body.
 */
export const refuseFields =
  ({ query, body }: { query?: unknown; body?: unknown }) =>
  async (request: FastifyRequest): Promise<void> => {
    if (!query) parseQuery(noFields, request);
    if (!body && request.body !== undefined) parseInput(noFields, request.body);
  };

/**
 * Describes a received value without showing it, because it may be secret. For a list, gives only
 * the number of items.
 */
function describeInput(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} items`;
  return typeof value === "boolean" ? String(value) : describeLength(value);
}

/**
 * Returns an issue for each text that contains a NUL character. The value must match a schema,
 * because the schema limits the depth of the recursion.
 */
function nulsIn(value: unknown, path: Issue["path"]): Issue[] {
  if (typeof value === "string") {
    if (!value.includes("\0")) return [];
    const message = `expected text without a NUL character, found one in ${describeLength(value)}`;
    return [{ path, code: "nul", message }];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    nulsIn(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/**
 * Refuses requests with `Idempotency-Key`. The service does not support this header. If it ignored
 * the header, clients would wrongly expect that a repeated request has no second effect.
 *
 * @param cure how to repeat the request safely without the header
 * @throws {Refusal} if the header is present
 */
export function refuseIdempotencyKey(request: FastifyRequest, cure: string): void {
  if (request.headers["idempotency-key"] === undefined) return;
  throw new Refusal("invalid_request", `Idempotency-Key is not supported; ${cure}`);
}

/**
 * Parses an integer in a query. Accepts only digits, because `Number` would also accept `1e1`,
 * `0x10`, `10.0`, and ` 10 `.
 */
export const integerInput = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, "expected an integer of 1 to 16 digits, without leading zeros")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: "integer", minimum: min, maximum: max });

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
      const message = `expected JSON in UTF-8, found the charset ${foundText(charset)}`;
      throw new Refusal("unsupported_media_type", message);
    }
    if (encoding !== undefined && encoding !== "identity") {
      const message = `expected no Content-Encoding, found ${foundText(encoding)}`;
      throw new Refusal("unsupported_media_type", message);
    }
    done(null, parseJson(bytes as Buffer));
  } catch (error) {
    done(error as Error);
  }
}

/**
 * The maximum number of fields in a body. An intent has 7 fields, and at most `callsMax` calls have
 * 3 fields each. Parsing and reporting a huge number of fields would delay other requests.
 */
export const membersMax = 200;

/**
 * The maximum number of commas and opening brackets in a body. Like {@link membersMax}, this
 * maximum limits how long the service parses a body. An intent's terms have at most `termsBytesMax`
 * bytes. Each argument takes at least 32 bytes, so an intent has at most `argsMax` arguments.
 */
export const marksMax = 2_000;

/** @throws {InvalidError} */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    const found = `${bytes.length} bytes in another encoding`;
    throw invalid("not_utf8", `expected a body in UTF-8, found ${found}`);
  }
  const text = bytes.toString("utf8");
  limitSize(text);
  const value = parseJsonText(text);
  if (startsInexactNumber.test(text)) {
    const issues = inexactNumbers(text);
    if (issues.length > 0) throw new InvalidError(issues);
  }
  return value;
}

function invalid(code: string, message: string): InvalidError {
  return new InvalidError([{ path: [], code, message }]);
}

/**
 * Refuses a JSON text with too many fields or values. Counts commas and opening brackets, because a
 * text has at most one value more than it has commas and opening brackets. Stops counting when a
 * limit is exceeded.
 *
 * @throws {InvalidError} `too_many_fields` or `too_many_values`
 */
function limitSize(text: string): void {
  let members = 0;
  let marks = 0;
  scanJson(text, ":,[{", (character) =>
    character === ":" ? ++members > membersMax : ++marks > marksMax,
  );
  if (members > membersMax) {
    const message = `expected at most ${membersMax} fields in the body, found more`;
    throw invalid("too_many_fields", message);
  }
  if (marks > marksMax) {
    const expected = `expected at most ${marksMax} commas and opening brackets in the body`;
    throw invalid("too_many_values", `${expected}, found more`);
  }
}

/**
 * Matches every JSON text that contains a number with a fraction or an exponent. Also matches some
 * other JSON texts, because the same characters can appear inside a string.
 */
const startsInexactNumber = /(?:^|[:,[])\s*-?\d+[.eE]/;

/**
 * Returns an issue for each number that has a fraction or an exponent. `JSON.parse` parses
 * `31337.0` and `3133.7e1` as the integer 31337, but other parsers may not.
 */
function inexactNumbers(text: string): Issue[] {
  const issues: Issue[] = [];
  JSON.parse(text, function (this: unknown, key, value, context?: { source?: string }) {
    const source = context?.source;
    if (typeof value === "number" && source !== undefined && !/^-?\d+$/.test(source)) {
      const path = [Array.isArray(this) ? Number(key) : key];
      const found = source.slice(0, 40);
      const message = `expected an integer without a fraction or exponent, found ${found}`;
      issues.push({ path, code: "not_an_integer", message });
    }
    return value;
  });
  return issues;
}
