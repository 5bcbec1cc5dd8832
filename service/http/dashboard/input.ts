// What the dashboard's pages send, parsed: every fault at once, each with its path.

import { InvalidError } from "executable-address";
import type { z } from "zod";

/** @throws {InvalidError} in the words of the schema */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, code, message }) => ({
    path: path.map((step) => (typeof step === "number" ? step : String(step))),
    code,
    message,
  }));
  throw new InvalidError(issues);
}
