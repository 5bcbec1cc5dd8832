import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { once, recalled, together, togetherBy } from "./together.ts";

describe("`together`", () => {
  test("rejects only the item for which `run` returns an error", async () => {
    const asked = together<number, string>(
      (items) => items.map((item) => (item === 2 ? new Error("no 2") : `${item}`)),
      { sizeMax: 10 },
    );
    const settled = await Promise.allSettled([asked(1), asked(2), asked(3)]);
    assert.deepEqual(
      settled.map((each) => (each.status === "fulfilled" ? each.value : each.reason.message)),
      ["1", "no 2", "3"],
    );
  });

  test("rejects all items of a group, and no others, if `run` throws", async () => {
    const asked = together<number, number>(
      (items) => {
        if (items.includes(1)) throw new Error("the group failed");
        return items;
      },
      { sizeMax: 2 },
    );
    const settled = await Promise.allSettled([asked(1), asked(2), asked(3)]);
    assert.deepEqual(
      settled.map(({ status }) => status),
      ["rejected", "rejected", "fulfilled"],
    );
  });

  test("forms groups of at most `sizeMax` items", async () => {
    const sizes: number[] = [];
    const asked = together<number, number>(
      async (items) => {
        sizes.push(items.length);
        return items;
      },
      { sizeMax: 4 },
    );
    const numbers = Array.from({ length: 10 }, (_, i) => i);
    assert.deepEqual(await Promise.all(numbers.map(asked)), numbers);
    assert.deepEqual(sizes, [4, 4, 2]);
  });

  test("runs at most `runningMax` groups simultaneously", async () => {
    for (const runningMax of [1, 3]) {
      let running = 0;
      let most = 0;
      const asked = together<number, number>(
        async (items) => {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setImmediate(resolve));
          running--;
          return items;
        },
        { sizeMax: 1, runningMax },
      );
      const numbers = Array.from({ length: 20 }, (_, i) => i);
      assert.deepEqual(await Promise.all(numbers.map(asked)), numbers);
      assert.equal(most, runningMax);
    }
  });

  test("resolves `idle` when no item is waiting or running", async () => {
    let done = 0;
    const asked = together<number, void>(
      async (items) => {
        await new Promise((resolve) => setImmediate(resolve));
        done += items.length;
        return items.map(() => undefined);
      },
      { sizeMax: 2 },
    );
    await asked.idle();
    for (let i = 0; i < 5; i++) void asked(i);
    await asked.idle();
    assert.equal(done, 5);
  });
});

describe("`togetherBy`", () => {
  test("forms a group for each key, and a failed group does not affect other groups", async () => {
    const groups: number[][] = [];
    const asked = togetherBy<number, number>(
      (item) => `${item % 3}`,
      async (items) => {
        groups.push(items);
        if (items.includes(2)) throw new Error("the group failed");
        return items.map((item) => (item === 3 ? new Error("no 3") : 10 * item));
      },
      10,
    );
    const settled = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(asked));
    assert.deepEqual(groups, [
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    assert.deepEqual(
      settled.map((each) => (each.status === "fulfilled" ? each.value : each.reason.message)),
      [10, "the group failed", "no 3", 40, "the group failed", 60],
    );
  });
});

test("`once` calls its function once, and returns the same result or error each time", async () => {
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

test("`recalled` caches only the results that `isKept` accepts", async () => {
  let reads = 0;
  const recall = recalled<number>(10, (found) => found > 1);
  const read = () => recall("key", async () => ++reads);
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1]);
  assert.equal(await read(), 2);
  assert.equal(await read(), 2);
});
