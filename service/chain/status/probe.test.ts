import assert from "node:assert/strict";
import { test } from "node:test";
import { fewerPairs, morePairs, pairsPerCallMax } from "./probe.ts";

test("the number of pairs per read falls after a failure and doubles after a success", () => {
  const sizes = [pairsPerCallMax];
  while (sizes.at(-1)! > 1) sizes.push(fewerPairs(sizes.at(-1)!, pairsPerCallMax));
  assert.deepEqual(sizes, [150, 37, 9, 2, 1]);
  assert.equal(fewerPairs(1, 1), 1);
  assert.equal(fewerPairs(150, 8), 2, "a failed read of 8 pairs shows that 8 are too many");
  assert.equal(morePairs(37, pairsPerCallMax), 74);
  assert.equal(morePairs(148, pairsPerCallMax), pairsPerCallMax);
});
