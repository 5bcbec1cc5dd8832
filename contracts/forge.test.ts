// The Solidity tests: fuzzing and invariants with a fixed seed, on the committed creation code.
// Deeper, as many times as one likes: FOUNDRY_FUZZ_RUNS=10000 FOUNDRY_INVARIANT_RUNS=10000.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runForge } from "./build.ts";

describe("forge", () => {
  test("a failing test is reported as failing: the canary", () => {
    const { exitCode, output } = runForge("test", ["test", "--match-path", "test/canary/*"]);
    assert.equal(exitCode, 1, output);
    assert.match(output, /FAIL: the canary sings/);
  });

  test("every other test passes, and none is left out", () => {
    const { exitCode, output } = runForge("test", ["test", "--no-match-path", "test/canary/*"]);
    assert.equal(exitCode, 0, output);
    assert.match(output, /Ran 21 test suites .* 0 failed, 0 skipped/, output);
    const calls = [...output.matchAll(/invariant_\w+\(\) \(runs: \d+, calls: (\d+)/g)];
    assert.equal(calls.length, 4);
    for (const [line, count] of calls) assert.ok(Number(count) >= 10_000, line);
  });
});
