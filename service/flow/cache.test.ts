import assert from "node:assert/strict";
import { test } from "node:test";
import { once } from "./cache.ts";

test("once calls its function only once, and always returns the result or the error", async () => {
  let reads = 0;
  const read = once(async () => ++reads);
  assert.equal(reads, 0);
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1]);
  assert.equal(await read(), 1);
  const fails = once(async () => {
    throw new Error(`read ${++reads}`);
  });
  for (let i = 0; i < 2; i++) await assert.rejects(fails(), /read 2/);
});
