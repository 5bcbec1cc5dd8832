import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "./groups.ts";

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
