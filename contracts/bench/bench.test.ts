// Compares the gas costs with the committed snapshot and with the promised limits. A change of a
// cost must also change the snapshot.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import committed from "../snapshots/gas.json" with { type: "json" };
import { measure } from "./scenarios.ts";

describe("gas", () => {
  test("the gas costs match the snapshot", async () => {
    const { figures } = await measure();
    assert.deepEqual(figures, committed, "npm run bench -w contracts -- --write, if meant");
  });

  test("executions with USDC stay within the promised gas limits", () => {
    assert.ok(committed["one call"].USDC <= 98_200);
    assert.ok(committed["approve+pay"].USDC <= 113_500);
    assert.ok(committed["five calls"].USDC <= 154_400);
  });

  test("batch items stay within the promised gas limits", () => {
    assert.ok(committed["batch of 5, each"].plain <= 64_900);
    assert.ok(committed["batch of 20, each"].plain <= 60_500);
  });
});
