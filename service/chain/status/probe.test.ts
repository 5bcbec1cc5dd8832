import assert from "node:assert/strict";
import { test } from "node:test";
import { fewerHolders, holdersMax, moreHolders } from "./probe.ts";

test("the number of addresses per read falls after a failure and doubles after a success", () => {
  const sizes = [holdersMax];
  while (sizes.at(-1)! > 1) sizes.push(fewerHolders(sizes.at(-1)!, holdersMax));
  assert.deepEqual(sizes, [150, 37, 9, 2, 1]);
  assert.equal(fewerHolders(1, 1), 1);
  assert.equal(fewerHolders(150, 8), 2, "a failed read of 8 addresses shows that 8 are too many");
  assert.equal(moreHolders(37, holdersMax), 74);
  assert.equal(moreHolders(148, holdersMax), holdersMax);
});
