import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatUnits } from "./amount.ts";
import { sayTime } from "./say-time.ts";

const now = new Date("2026-01-15T12:00:00Z");
const said = (seconds: number) => sayTime(new Date(now.getTime() + seconds * 1000), now);

describe("moments in words", () => {
  const cases: [number, string][] = [
    [-10, "just now"],
    [10, "in a moment"],
    [-50, "1 minute ago"],
    [-3600, "1 hour ago"],
    [3599, "in 1 hour"],
    [7200, "in 2 hours"],
    [-86_400, "yesterday"],
    [3 * 86_400, "in 3 days"],
  ];
  for (const [seconds, text] of cases) {
    test(`${seconds} s is "${text}"`, () => assert.equal(said(seconds), text));
  }
  test("a month and more is the date", () => assert.equal(said(-40 * 86_400), "Dec 6, 2025"));
});

describe("base units as a person writes them", () => {
  const cases: [string, number, string][] = [
    ["0", 6, "0"],
    ["1", 6, "0.000001"],
    ["1500000", 6, "1.5"],
    ["25000000", 6, "25"],
    ["1234567890123", 6, "1,234,567.890123"],
    ["1234", 0, "1,234"],
    ["1000000000000000000", 18, "1"],
  ];
  for (const [amount, decimals, text] of cases) {
    test(`${amount} with ${decimals} decimals is ${text}`, () =>
      assert.equal(formatUnits(amount, decimals), text));
  }
  test("the largest amount keeps every digit", () => {
    const largest = (2n ** 256n - 1n).toString();
    assert.equal(formatUnits(largest, 18).replaceAll(/[,.]/g, ""), largest);
  });
});
