import assert from "node:assert/strict";
import { test } from "node:test";
import { once, recalled } from "./cache.ts";

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

test("recalled caches only the results that `isKept` accepts", async () => {
  let reads = 0;
  const recall = recalled<number>(10, (found) => found > 1);
  const read = () => recall("key", async () => ++reads);
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1]);
  assert.equal(await read(), 2);
  assert.equal(await read(), 2);
});
