// solc's model checker (CHC with the z3 that is compiled into it) on Life.sol. It answers one of:
// safe, for any number of steps; violated, with the steps; or neither, which fails here as well.
// It takes most of a minute, so `npm run test:long` alone asks it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
const source = readFileSync(`${import.meta.dirname}/Life.sol`, "utf8");
const skip = process.env.TESTS === "long" ? false : "npm run test:long";
const [safe, assertion] = ["9576", "6328"];

/** Has the checker judge the assertions of `contract`. */
function check(contract: "Life" | "Money", content: string): { code: string; message: string }[] {
  const modelChecker = {
    engine: "chc",
    solvers: ["z3"],
    targets: ["assert"],
    contracts: { "Life.sol": [contract] },
    showProvedSafe: true,
    showUnproved: true,
    // None. With its default it gives up.
    timeout: 0,
  };
  const sources = { "Life.sol": { content } };
  const input = { language: "Solidity", sources, settings: { modelChecker } };
  const { errors = [] } = JSON.parse(solc.compile(JSON.stringify(input))) as {
    errors?: { errorCode: string; message: string }[];
  };
  return errors.map(({ errorCode, message }) => ({ code: errorCode, message }));
}

/** The same model without one line that keeps it sound. */
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
  test("executes once, in time and in full, or is closed, and stays so", () => {
    isSafe(check("Life", source));
  });

  test("control: without AlreadyOver the checker finds the second execution", () => {
    const found = check("Life", without("require(codeBytes == 0); // AlreadyOver"));
    isViolated(found, /executions = 2/);
  });
});

describe("the money of a vault", { skip }, () => {
  test("leaves by its calls or to its recovery, and only when it is over", () => {
    isSafe(check("Money", source));
  });

  test("control: a recovery that takes nothing from the balance is found", () => {
    const found = check("Money", without("balance -= sent;"));
    isViolated(found, /Money\.recover\(/);
  });
});
