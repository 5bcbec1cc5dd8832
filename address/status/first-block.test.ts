import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { findFirstBlock } from "./status.ts";

const histories = fc
  .tuple(fc.nat(1_000_000), fc.nat(1_000_000), fc.nat(1_000_000))
  .map(([from, before, after]) => ({ from, first: from + before, to: from + before + after }));

/** Searches for `first`, and returns the result and the blocks whose state was read. */
async function search({ from, first, to }: { from: number; first: number; to: number }) {
  const read: number[] = [];
  const found = await findFirstBlock({ from, to }, async (block) => {
    read.push(block);
    return block >= first;
  });
  return { found, read };
}

describe("findFirstBlock", () => {
  test("findFirstBlock returns the block in which the state changes", () =>
    fc.assert(
      fc.asyncProperty(histories, async (history) => {
        assert.equal((await search(history)).found, history.first);
      }),
    ));

  test("findFirstBlock reads at most 40 blocks, and no block twice", () =>
    fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const { read } = await search(history);
        assert.equal(new Set(read).size, read.length);
        assert.ok(read.every((block) => block >= history.from && block < history.to));
        assert.ok(read.length <= 40, `${read.length} blocks`);
      }),
    ));

  test("findFirstBlock reads only the last 127 blocks if the change is recent", () =>
    fc.assert(
      fc.asyncProperty(fc.nat(126), async (age) => {
        const { read } = await search({ from: 0, first: 1_000_000 - age, to: 1_000_000 });
        assert.ok(read.every((block) => block >= 1_000_000 - 127));
      }),
    ));

  test("findFirstBlock returns the range's first block if no state can be read", async () => {
    assert.equal(await findFirstBlock({ from: 7, to: 500 }, async () => undefined), 7);
  });
});
