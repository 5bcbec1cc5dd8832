import assert from "node:assert/strict";
import { test } from "node:test";
import { readRetryAfterSeconds } from "./client.ts";

test("Retry-After: seconds, or a date by the server's clock; undefined for anything else", () => {
  const date = "Mon, 23 Nov 2026 05:00:00 GMT";
  for (const [retryAfter, wanted] of [
    ["", undefined],
    ["soon", undefined],
    ["-5", undefined],
    ["120", 120],
    ["Mon, 23 Nov 2026 05:02:00 GMT", 120],
    ["Mon, 23 Nov 2026 04:00:00 GMT", 0],
  ] as const) {
    assert.equal(readRetryAfterSeconds(retryAfter, date), wanted, retryAfter);
  }
});
