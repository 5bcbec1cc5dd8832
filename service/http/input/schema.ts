// Parses what the dashboard's pages and the readers of lists send, and tells every fault at once,
// each with its path. Times are ISO 8601 in JSON and Unix milliseconds inside.

import { InvalidError, type Issue } from "executable-address";
import type { FastifyRequest } from "fastify";
import { z } from "zod";

/**
 * @returns what the schema makes of `value`; a text with a NUL is refused, because PostgreSQL takes
 *   none and would fail all that shares the statement
 * @throws {InvalidError} in the words of the schema
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const parsed = schema.safeParse(value ?? {});
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, code, message }) => ({
      path: path.map((step) => (typeof step === "number" ? step : String(step))),
      code,
      message,
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
 * @throws {InvalidError} as {@link parseInput}, and for escapes that are not UTF-8: the framework
 *   would take them as they stand
 */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, request: FastifyRequest) {
  const { url = "" } = request.raw;
  try {
    if (url.includes("%")) decodeURIComponent(url.slice(url.indexOf("?")));
  } catch {
    const { length } = url.slice(url.indexOf("?") + 1);
    const message = `expected percent-encoded UTF-8, found ${length} characters with other escapes`;
    throw new InvalidError([{ path: ["query"], code: "bad_escape", message }]);
  }
  return parseInput(schema, request.query);
}

const noFields = z.strictObject({});

/**
 * A preHandler hook that refuses every field of the query, the body or both, if none is
 * described.
 */
export const refuseFields =
  ({ query, body }: { query?: unknown; body?: unknown }) =>
  async (request: FastifyRequest): Promise<void> => {
    if (!query) parseQuery(noFields, request);
    if (!body && request.body !== undefined) parseInput(noFields, request.body);
  };

/** Recurses as deep as the schema that was parsed. */
function nulsIn(value: unknown, path: Issue["path"]): Issue[] {
  if (typeof value === "string") {
    if (!value.includes("\0")) return [];
    return [{ path, code: "nul", message: "expected text without a NUL character" }];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    nulsIn(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

/** An integer of a query, in digits alone: `Number` would take `1e1`, `0x10`, `10.0` and ` 10 `. */
export const integerInput = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, "expected an integer in digits alone")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: "integer", minimum: min, maximum: max });

/** ISO 8601 with its offset, as Unix milliseconds. */
export const timeInput = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
