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

  test("with USDC stays below a limit for one call, for two calls, and for five calls", () => {
    assert.ok(committed["one call"].USDC <= 98_200);
    assert.ok(committed["approve+pay"].USDC <= 113_500);
    assert.ok(committed["five calls"].USDC <= 154_400);
  });

  test("per item with a plain token stays below a limit in batches of 5 and 20 items", () => {
    assert.ok(committed["batch of 5, each"].plain <= 64_900);
    assert.ok(committed["batch of 20, each"].plain <= 60_500);
  });
});
