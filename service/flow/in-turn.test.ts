import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn } from "./in-turn.ts";

const whose = (item: string) => item[0]!;

test("an owner of many delays no other: the first of each, then the second of each", () => {
  assert.deepEqual(inTurn(["a1", "a2", "a3", "b1", "c1", "c2"], whose), [
    ..."a1 b1 c1 a2 c2 a3".split(" "),
  ]);
});

test("within a turn they stand as they came, or in the order that is given", () => {
  const items = ["b2", "a9", "b1", "a1"];
  assert.deepEqual(inTurn(items, whose), ["b2", "a9", "b1", "a1"]);
  const byNumber = (a: string, b: string) => Number(a[1]) - Number(b[1]);
  assert.deepEqual(inTurn(items, whose, byNumber), ["b2", "a9", "b1", "a1"]);
  assert.deepEqual(inTurn(["a9", "b2"], whose, byNumber), ["b2", "a9"]);
});
