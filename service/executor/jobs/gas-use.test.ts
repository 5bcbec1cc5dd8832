import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { planGas } from "./gas-use.ts";

describe("planGas", () => {
  const limit = 5_000_000;
  const plan = (estimate: number, use: number | undefined, gasMax = 12_000_000) =>
    planGas(estimate, use, limit, gasMax);

  test("returns the higher of the estimate and the used gas", () => {
    assert.equal(plan(100_000, 108_000), 108_000);
    assert.equal(plan(137_000, 100_000), 137_000);
    assert.equal(plan(137_000, undefined), 137_000);
  });

  test("returns enough gas for the simulation's limit if the work depends on the gas", () => {
    assert.ok(plan(178_000, 1_042_285) * 1.375 * (63 / 64) > limit - 2);
  });

  test("never returns more gas than fits in a transaction after the margin is added", () => {
    assert.ok(plan(178_000, 1_042_285, 4_000_000) * 1.375 + 40_000 <= 4_000_000);
  });
});
