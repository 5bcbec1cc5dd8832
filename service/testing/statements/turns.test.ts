import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { turnsOf } from "./turns.ts";

const workMs = 50;

describe("turnsOf", () => {
  test("returns the processor time of a turn that blocks the thread", async () => {
    const { longest, all } = await turnsOf(async () => {
      await nextTurn();
      const readUsage = process.threadCpuUsage ?? process.cpuUsage;
      const began = readUsage();
      const usedMs = ({ user, system } = readUsage(began)) => (user + system) / 1_000;
      while (usedMs() < workMs);
    });
    assert.ok(longest > workMs / 2, `${longest} ms`);
    assert.ok(all >= longest, `${all} ms`);
  });

  test("excludes the time for which a turn waits for a lock", async () => {
    const lock = new Int32Array(new SharedArrayBuffer(4));
    const { longest } = await turnsOf(async () => {
      await nextTurn();
      Atomics.wait(lock, 0, 0, workMs);
    });
    assert.ok(longest < workMs / 2, `${longest} ms`);
  });
});
