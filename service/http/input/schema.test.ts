import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { integerInput, parseInput } from "./schema.ts";

describe("what a page sends", () => {
  test("is refused with a NUL in any text, at its path: PostgreSQL takes none", () => {
    const schema = z.strictObject({ email: z.string(), types: z.array(z.string()) });
    assert.throws(() => parseInput(schema, { email: "a\0@b.example", types: ["x", "\0"] }), {
      issues: ["email", "types.1"].map((path) => ({
        path: path.split(".").map((step) => (step === "1" ? 1 : step)),
        code: "nul",
        message: "expected text without a NUL character",
      })),
    });
    const plain = { email: "a@b.example", types: ["x", ""] };
    assert.deepEqual(parseInput(schema, plain), plain);
  });

  test("is an integer in one spelling, within its bounds, or its default", () => {
    const schema = z.strictObject({ days: integerInput(1, 92).default(30) });
    for (const days of [
      "1e1",
      "10.0",
      "0x10",
      " 10",
      "+5",
      "05",
      "-0",
      "",
      "0",
      "93",
      ["1", "2"],
    ]) {
      assert.throws(() => parseInput(schema, { days }), { name: "InvalidError" }, String(days));
    }
    assert.deepEqual(parseInput(schema, { days: "92" }), { days: 92 });
    assert.deepEqual(parseInput(schema, {}), { days: 30 });
  });
});
