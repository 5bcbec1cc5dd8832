import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "./connect.ts";

test("`connect` refuses a file if SQLite cannot use a write-ahead log for it", () =>
  assert.throws(() => connect(":memory:"), {
    message: ":memory:: journal_mode memory, synchronous 2; expected wal and 2 (full)",
  }));
