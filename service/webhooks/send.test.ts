import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterSeconds } from "./send.ts";

test("Retry-After: seconds, or a date by the receiver's clock; null for anything else", () => {
  const date = "Mon, 23 Nov 2026 05:00:00 GMT";
  for (const [header, wanted] of [
    [undefined, null],
    ["soon", null],
    ["-5", null],
    ["120", 120],
    ["Mon, 23 Nov 2026 05:02:00 GMT", 120],
    ["Mon, 23 Nov 2026 04:00:00 GMT", 0],
  ] as const) {
    const headers = { date, ...(header !== undefined && { "retry-after": header }) };
    assert.equal(retryAfterSeconds(headers), wanted, header);
  }
});
