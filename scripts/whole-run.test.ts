// Tests that a test file fails if it exits early or has an uncaught error.

import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, describe, test } from "node:test";

const folder = mkdtempSync(join(tmpdir(), "whole-"));
after(() => rmSync(folder, { recursive: true }));

/**
 * Runs a test file as `npm test` does, but without the variable NODE_TEST_CONTEXT. With this
 * variable, the inner run would become a part of this test run.
 */
function run(text: string, ...args: string[]) {
  const file = join(folder, "one.test.ts");
  writeFileSync(file, `import { before, describe, test } from "node:test";\n${text}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, [...args, "--test", file], {
    env,
    encoding: "utf8",
  });
  return { status, stdout };
}

function hasTrackPromises(): boolean {
  try {
    createHook({ trackPromises: "no boolean" as unknown as boolean });
    return false;
  } catch {
    return true;
  }
}

const door = resolve(import.meta.dirname, "run.js");
const hookThatEnds = "before(() => new Promise(() => setImmediate(() => process.exit(0))));";

describe("a test file that `npm test` runs", () => {
  test("fails if its process ends before the first test", () => {
    const { status, stdout } = run(`${hookThatEnds} test("one", () => {});`, door);
    assert.equal(status, 1);
    assert.match(stdout, /ended before all its tests had finished/);
  });

  test("fails if its process ends between tests", () => {
    const late = `describe("late", () => { ${hookThatEnds} test("two", () => {}); });`;
    assert.equal(run(`test("one", () => {}); ${late}`, door).status, 1);
  });

  test("fails if a rejection is unhandled", () => {
    const { status, stdout } = run(`test("one", () => void Promise.reject("nobody's"));`, door);
    assert.equal(status, 1);
    assert.match(stdout, /"nobody's" which triggered an unhandledRejection event/);
  });

  test("runs its own hooks before the hooks of its suites", () => {
    const late = "before(async () => { await null; order.push('file'); });";
    const suite = (name: string) => `describe("${name}", () => {
      before(() => void order.push("hook ${name}"));
      test("one", () => void order.push("test ${name}"));
    });`;
    const last = `test("last", () => console.log(order.join(", ")));`;
    const text = `const order = []; ${late} ${suite("a")} ${suite("b")} ${last}`;
    assert.match(run(text, door).stdout, /file, hook a, test a, hook b, test b/);
  });

  const skip = hasTrackPromises() ? false : "this Node has no option `trackPromises`";
  test("does not track promises with async hooks", { skip }, () => {
    const text = `import { executionAsyncId } from "node:async_hooks";
      test("one", async () => { await null; console.log("in", executionAsyncId() > 0); });`;
    assert.match(run(text, door).stdout, /in false/);
    assert.match(run(text).stdout, /in true/);
  });

  test("passes if all its tests pass", () => {
    assert.equal(run(`test("one", () => {});`, door).status, 0);
  });

  test("control: Node's own runner reports success for a file that ends early", () => {
    assert.equal(run(`${hookThatEnds} test("one", () => {});`).status, 0);
  });
});
