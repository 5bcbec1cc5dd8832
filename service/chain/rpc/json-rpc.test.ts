import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { blockOf, hexData, parseLog, quantity } from "./json-rpc.ts";

describe("the validation of a node's response", () => {
  const hash = `0x${"ab".repeat(32)}`;
  const block = { number: "0x1", hash, parentHash: hash, timestamp: "0x2" };
  const refusals: [name: string, read: () => unknown, message: string][] = [
    ["null in place of a block", () => blockOf(null), "expected a block, found null"],
    [
      "a block without a hash",
      () => blockOf({ ...block, hash: null }),
      "block.hash: expected hex, found null",
    ],
    [
      "a log with a topic that is not hex",
      () => parseLog({ address: "0x00", topics: ["0x00", 7], data: "0x" }),
      "log.topics: expected hex, found 7",
    ],
    ["a number as a quantity", () => quantity(7), "expected a quantity, found 7"],
    ["an odd number of hex digits", () => hexData("0x1"), 'expected hex, found "0x1"'],
  ];
  for (const [name, read, message] of refusals) {
    test(`throws \`ChainUnavailable\` for ${name}`, () =>
      assert.throws(read, { name: "ChainUnavailable", message }));
  }

  test("accepts a block that has neither a base fee nor a gas limit", () => {
    const { baseFee, gasLimit } = blockOf(block);
    assert.deepEqual([baseFee, gasLimit], [0n, 30_000_000n]);
  });
});
