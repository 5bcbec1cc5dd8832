import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sayWith } from "../../ui/words/languages.ts";
import { en } from "../words/words.ts";
import { sayTime } from "./say-time.ts";

const now = new Date("2026-01-15T12:00:00Z");
const said = (seconds: number) =>
  sayTime(new Date(now.getTime() + seconds * 1000), now, sayWith(en));

describe("relative times", () => {
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
    test(`${seconds} s from now is shown as "${text}"`, () => assert.equal(said(seconds), text));
  }
  test("a time 40 days ago is shown as a date", () =>
    assert.equal(said(-40 * 86_400), "Dec 6, 2025"));
});
