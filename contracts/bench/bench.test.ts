// We promise the gas cost of executions, so every change of the cost must also change the committed
// snapshot.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import committed from "../snapshots/gas.json" with { type: "json" };
import { measure } from "./scenarios.ts";

describe("gas", () => {
  test("matches the snapshot exactly", async () => {
    const { figures } = await measure();
    assert.deepEqual(figures, committed, "npm run bench -w contracts -- --write, if meant");
  });

  test("of a proxied token is at most 97,000, 112,400, and 150,000", () => {
    assert.ok(committed["one call"].proxied <= 97_000);
    assert.ok(committed["approve+pay"].proxied <= 112_400);
    assert.ok(committed["five calls"].proxied <= 150_000);
  });

  test("of a plain token's batch item is at most 64,900 (of 5 items) and 60,500 (of 20)", () => {
    assert.ok(committed["batch of 5, each"].plain <= 64_900);
    assert.ok(committed["batch of 20, each"].plain <= 60_500);
  });
});
