// The Solidity tests: fuzzing and invariants with a fixed seed, on the committed creation code.
// `npm test` and the mutation tests run the same number of cases per test, so both find the same
// faults. `npm run test:long` runs as many cases as foundry.toml says. For more cases, set
// FOUNDRY_FUZZ_RUNS=10000 FOUNDRY_INVARIANT_RUNS=10000.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLong } from "../scripts/long.ts";
import { shortRuns } from "./assurance/mutation/trial.ts";
import { runForge } from "./build.ts";

const runs = isLong || process.env.FOUNDRY_FUZZ_RUNS ? {} : shortRuns;
/** The minimum number of calls per invariant. */
const callsMin = isLong ? 10_000 : 500;

describe("the Solidity tests, run by `forge test`", () => {
  // Runs forge once for all tests, because each run starts the compiler and compiles the tests.
  const { exitCode, output } = runForge("test", ["test"], runs);

  test("a test that fails on purpose is reported as failed", () => {
    assert.equal(exitCode, 1, output);
    assert.match(output, /FAIL: the canary sings/, output);
  });

  test("all tests pass, except a test that fails on purpose", () => {
    assert.match(output, /Ran 30 test suites .* 1 failed, 0 skipped/, output);
    const calls = [...output.matchAll(/invariant_\w+\(\) \(runs: \d+, calls: (\d+)/g)];
    assert.equal(calls.length, 4);
    for (const [line, count] of calls) assert.ok(Number(count) >= callsMin, line);
  });
});
