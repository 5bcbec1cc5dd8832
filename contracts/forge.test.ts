// The Solidity tests: fuzzing and invariants with a fixed seed, on the committed creation code.
// `npm test` runs as many cases of each as a trial of a mutant does (assurance/mutation/trial.ts),
// so it finds what those trials find; `npm run test:long` runs as many as foundry.toml says. To
// go deeper: FOUNDRY_FUZZ_RUNS=10000 FOUNDRY_INVARIANT_RUNS=10000.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { shortRuns } from "./assurance/mutation/trial.ts";
import { runForge } from "./build.ts";

const isLong = process.env.TESTS === "long";
const runs = isLong || process.env.FOUNDRY_FUZZ_RUNS ? {} : shortRuns;
/** The minimum number of calls per invariant. */
const callsMin = isLong ? 10_000 : 500;

describe("forge", () => {
  test("a failing test is reported as failing: the canary", () => {
    const { exitCode, output } = runForge("test", ["test", "--match-path", "test/canary/*"]);
    assert.equal(exitCode, 1, output);
    assert.match(output, /FAIL: the canary sings/);
  });

  test("every other test passes, and none is omitted", () => {
    const args = ["test", "--no-match-path", "test/canary/*"];
    const { exitCode, output } = runForge("test", args, runs);
    assert.equal(exitCode, 0, output);
    assert.match(output, /Ran 27 test suites .* 0 failed, 0 skipped/, output);
    const calls = [...output.matchAll(/invariant_\w+\(\) \(runs: \d+, calls: (\d+)/g)];
    assert.equal(calls.length, 4);
    for (const [line, count] of calls) assert.ok(Number(count) >= callsMin, line);
  });
});
