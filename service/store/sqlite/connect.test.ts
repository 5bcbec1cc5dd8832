import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "./connect.ts";

test("refused if SQLite cannot use a write-ahead log, so that every commit is durable", () =>
  assert.throws(() => connect(":memory:"), {
    message: ":memory:: journal_mode memory, synchronous 2; expected wal and 2 (full)",
  }));
