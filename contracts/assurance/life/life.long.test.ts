// Runs solc's model checker (CHC with its built-in z3) on Life.sol. The result is "safe" for any
// number of calls, "violated" (with the calls), or "unknown". An unknown result fails the test too.
// The check takes most of a minute, so only `npm run test:long` runs it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { isLong } from "../../../scripts/long.ts";

const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
const source = readFileSync(`${import.meta.dirname}/Life.sol`, "utf8");
const skip = isLong ? false : "npm run test:long";
const [safe, assertion] = ["9576", "6328"];

/** Runs the model checker on the assertions of `contract`. */
function check(contract: "Life" | "Money", content: string): { code: string; message: string }[] {
  const modelChecker = {
    engine: "chc",
    solvers: ["z3"],
    targets: ["assert"],
    contracts: { "Life.sol": [contract] },
    showProvedSafe: true,
    showUnproved: true,
    // Disables the timeout, because the solver returns "unknown" if its default timeout ends.
    timeout: 0,
  };
  const sources = { "Life.sol": { content } };
  const input = { language: "Solidity", sources, settings: { modelChecker } };
  const { errors = [] } = JSON.parse(solc.compile(JSON.stringify(input))) as {
    errors?: { errorCode: string; message: string }[];
  };
  return errors.map(({ errorCode, message }) => ({ code: errorCode, message }));
}

/** Returns the model without one line. Without this line, an assertion must fail. */
function without(line: string): string {
  assert.equal(source.split(line).length, 2, `Life.sol has it once: ${line}`);
  return source.replace(line, "");
}

const isSafe = (found: ReturnType<typeof check>) =>
  assert.deepEqual(
    found.map(({ code }) => code),
    [safe],
    JSON.stringify(found),
  );

const isViolated = (found: ReturnType<typeof check>, steps: RegExp) => {
  const violation = found.find(({ code }) => code === assertion);
  assert.match(
    violation?.message ?? JSON.stringify(found),
    /^CHC: Assertion violation happens here/,
  );
  assert.match(violation!.message, steps);
};

describe("the life of a vault", { skip }, () => {
  test("a vault is executed or closed at most once", () => {
    isSafe(check("Life", source));
  });

  test("control: the model checker finds a second execution without `AlreadyOver`", () => {
    const found = check("Life", without("require(codeBytes == 0); // AlreadyOver"));
    isViolated(found, /executions = 2/);
  });
});

describe("the money of a vault", { skip }, () => {
  test("money leaves a vault only through its calls or to its recovery address", () => {
    isSafe(check("Money", source));
  });

  test("control: the model checker rejects a recovery that leaves the balance unchanged", () => {
    const found = check("Money", without("balance -= sent;"));
    isViolated(found, /Money\.recover\(/);
  });
});
