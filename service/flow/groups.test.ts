import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, roundRobin } from "./groups.ts";

test("partsOf returns each owner's items in order, and no items for an owner without any", () => {
  assert.deepEqual(
    partsOf(["a1", "a2", "c1"], ["aa", "", "c"], ({ length }) => length),
    [
      { owner: "aa", part: ["a1", "a2"] },
      { owner: "", part: [] },
      { owner: "c", part: ["c1"] },
    ],
  );
});

const ownerOf = (item: string) => item[0]!;

test("roundRobin returns each owner's first item before any owner's second item", () => {
  assert.deepEqual(roundRobin(["a1", "a2", "a3", "b1", "c1", "c2"], ownerOf), [
    ..."a1 b1 c1 a2 c2 a3".split(" "),
  ]);
});

test("roundRobin keeps the original order of the owners, unless a comparator is given", () => {
  const items = ["b2", "a9", "b1", "a1"];
  assert.deepEqual(roundRobin(items, ownerOf), ["b2", "a9", "b1", "a1"]);
  const byNumber = (a: string, b: string) => Number(a[1]) - Number(b[1]);
  assert.deepEqual(roundRobin(items, ownerOf, byNumber), ["b2", "a9", "b1", "a1"]);
  assert.deepEqual(roundRobin(["a9", "b2"], ownerOf, byNumber), ["b2", "a9"]);
});
