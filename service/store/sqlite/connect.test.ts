import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "./connect.ts";

test("refused where SQLite cannot write ahead, so that no commit is less than durable", () =>
  assert.throws(() => connect(":memory:"), {
    message: ":memory:: journal_mode memory, synchronous 2; wanted wal and 2 (full)",
  }));
