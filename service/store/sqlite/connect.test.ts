import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, retryWhileLocked } from "./connect.ts";

test("`connect` refuses a file if SQLite cannot use a write-ahead log for it", () =>
  assert.throws(() => connect(":memory:"), {
    message: ":memory:: journal_mode memory, synchronous 2; expected wal and 2 (full)",
  }));

test("retries that wait for the write lock end after 5 s, even if each attempt is slow", (t) => {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  let attempts = 0;
  const attempt = () => {
    attempts++;
    nowMs += 1_000;
    throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
  };
  assert.throws(() => retryWhileLocked(attempt), { message: "database is locked" });
  assert.equal(attempts, 5);
});
