import assert from "node:assert/strict";
import { test } from "node:test";
import { readUnits } from "./money.ts";

test("readUnits returns undefined for invalid text", () => {
  const wrong = ["", "0", "0.000000", "-1", "+1", "1e3", "1,5", ".5", "5.", "0x1", "1.1234567"];
  for (const text of [...wrong, "9".repeat(61)]) assert.equal(readUnits(text, 6), undefined, text);
  assert.equal(readUnits("1.5", 0), undefined);
  assert.equal(readUnits("9".repeat(60), 18), undefined, "beyond 2^256");
});

test("readUnits returns the amount in base units", () => {
  assert.equal(readUnits("25", 6), "25000000");
  assert.equal(readUnits(" 0.000001 ", 6), "1");
  assert.equal(readUnits("12.50", 6), "12500000");
  assert.equal(readUnits("7", 0), "7");
});
