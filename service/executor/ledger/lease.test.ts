import assert from "node:assert/strict";
import { test } from "node:test";
import { openLeaseWatch } from "./lease.ts";

test("openLeaseWatch measures the time since the last change of a lease", () => {
  let now = 5;
  const isUnchanged = openLeaseWatch(() => now);
  const lease = { holder: "a", epoch: 1, renewals: 1 };
  const unchangedMs = (seen: typeof lease) => [0, 50, 100].findLast((ms) => isUnchanged(seen, ms));
  assert.equal(unchangedMs(lease), 0);
  now += 50;
  assert.equal(unchangedMs({ ...lease }), 50);
  now += 50;
  assert.equal(unchangedMs(lease), 100);
  const changes = [
    { ...lease, renewals: 2 },
    { ...lease, epoch: 2 },
  ];
  for (const changed of changes) {
    assert.equal(unchangedMs(changed), 0);
    now += 100;
    assert.equal(unchangedMs(changed), 100);
  }
});
