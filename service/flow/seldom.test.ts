import assert from "node:assert/strict";
import { test } from "node:test";
import { seldom } from "./seldom.ts";

test("each kind is told once a minute, with how many were left out", () => {
  let now = 0;
  const told: [string, number][] = [];
  const tell = seldom(() => now);
  for (now = 0; now < 150_000; now += 1_000) {
    tell("a", (leftOut) => told.push(["a", leftOut]));
  }
  tell("b", (leftOut) => told.push(["b", leftOut]));
  assert.deepEqual(told, [
    ["a", 0],
    ["a", 59],
    ["a", 59],
    ["b", 0],
  ]);
});

test("kinds without number are one beyond a hundred", () => {
  let lines = 0;
  const tell = seldom(() => 0);
  for (let i = 0; i < 10_000; i++) tell(`kind ${i}`, () => lines++);
  assert.equal(lines, 101);
});
