// What executions cost is part of what we promise: a change shows here, and in the commit.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import committed from "../snapshots/gas.json" with { type: "json" };
import { measure } from "./scenarios.ts";

describe("gas", () => {
  test("is what the snapshot says, to the unit", async () => {
    const { figures } = await measure();
    assert.deepEqual(figures, committed, "npm run bench -w contracts -- --write, if meant");
  });

  test("of a proxied token stays within 96,500, 112,500 and 152,000", () => {
    assert.ok(committed["one call"].proxied <= 96_500);
    assert.ok(committed["approve+pay"].proxied <= 112_500);
    assert.ok(committed["five calls"].proxied <= 152_000);
  });
});
