import assert from "node:assert/strict";
import { test } from "node:test";
import { limitLogs } from "./log-limit.ts";

test("limitLogs logs each kind of message once a minute, and counts the omitted messages", () => {
  let now = 0;
  const lines: [string, number][] = [];
  const log = limitLogs(() => now);
  for (now = 0; now < 150_000; now += 1_000) {
    log("a", (leftOut) => lines.push(["a", leftOut]));
  }
  log("b", (leftOut) => lines.push(["b", leftOut]));
  assert.deepEqual(lines, [
    ["a", 0],
    ["a", 59],
    ["a", 59],
    ["b", 0],
  ]);
});

test("after 100 kinds of messages, limitLogs treats all other kinds as one kind", () => {
  let lines = 0;
  const log = limitLogs(() => 0);
  for (let i = 0; i < 10_000; i++) log(`kind ${i}`, () => lines++);
  assert.equal(lines, 101);
});
