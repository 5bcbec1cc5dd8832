// Tests the agreement of nodes if some nodes fail, differ, or return false data.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toQuantity } from "../abi/hex.ts";
import type { Rpc } from "../status/rpc.ts";
import { agree, blockHashOf, pickAgreed } from "./agree.ts";
import { assertAgreed } from "./gather.ts";

describe("pickAgreed", () => {
  test("returns undefined if fewer nodes than the quorum give the same answer", () => {
    assert.equal(pickAgreed([], 1), undefined);
    assert.equal(pickAgreed(["a", "b"], 2), undefined);
    assert.equal(pickAgreed(["a", "b", "a", "c"], 3), undefined);
  });

  test("does not count nodes without an answer toward the quorum", () => {
    assert.equal(pickAgreed([undefined, undefined, "a"], 2), undefined);
    assert.equal(
      pickAgreed([{}, {}, { hash: "a" }], 2, ({ hash }: { hash?: string }) => hash),
      undefined,
    );
    assert.equal(
      pickAgreed(["x", "y"], 2, () => ""),
      undefined,
    );
  });

  test("returns the honest nodes' answer regardless of the order of the nodes", () => {
    for (const answers of [
      ["lie", "a", "a"],
      ["a", "lie", "a"],
      ["a", "a", "lie"],
    ])
      assert.equal(pickAgreed(answers, 2), "a");
  });

  test("returns the first of two answers that both reach the quorum", () => {
    assert.equal(pickAgreed(["a", "b", "b", "a"], 2), "a");
    assert.equal(pickAgreed(["lie", "a", "a"], 1), "lie");
    assert.equal(pickAgreed([undefined, "b", "a"], 1), "b");
  });

  test("counts an empty text as an answer", () => {
    assert.equal(pickAgreed(["a", "", ""], 2), "");
  });

  test("compares the fields of objects, or only the text that `keyOf` returns", () => {
    const answers = [
      { hash: "a", logs: 1 },
      { hash: "a", logs: 2 },
    ];
    assert.equal(pickAgreed(answers, 2), undefined);
    assert.equal(
      pickAgreed(answers, 2, ({ hash }) => hash),
      answers[0],
    );
    assert.deepEqual(pickAgreed([{ hash: "b" }, { hash: "a" }, { hash: "a" }], 2), { hash: "a" });
  });
});

const hashOf = (fill: string) => `0x${fill.repeat(64)}`;
/** Returns a node at block `head`. The hashes of its blocks repeat the digit `fill`. */
const nodeAt =
  (head: number, fill = "a", chainId = 1, shift = 0): Rpc =>
  async (method, [by]) => {
    if (method === "eth_chainId") return toQuantity(chainId);
    if (method === "eth_blockNumber") return toQuantity(head);
    const number = Number(by) + shift;
    return { number: toQuantity(number), hash: hashOf(fill), timestamp: toQuantity(number * 10) };
  };
const down: Rpc = async () => {
  throw new Error("is down");
};

describe("agree", () => {
  test("returns no block if a quorum returns a block with a wrong number", async () => {
    const shifted = nodeAt(9, "a", 1, 1);
    assert.deepEqual(await agree([shifted, shifted, nodeAt(9)], 5, 2), {
      block: undefined,
      answers: `rpcs[0]: block 6, rpcs[1]: block 6, rpcs[2]: ${hashOf("a")}`,
    });
  });

  test("returns no block if too few nodes have the block", async () => {
    for (const [rpc, answer] of [
      [down, "is down"],
      [async () => null, "no block"],
    ] as const)
      assert.deepEqual(await agree([nodeAt(9), rpc], 5, 2), {
        block: undefined,
        answers: `rpcs[0]: ${hashOf("a")}, rpcs[1]: ${answer}`,
      });
  });

  test("assertAgreed throws `unproved` for a hash that the nodes do not agree on", async () => {
    const place = { blockNumber: 5, blockHash: hashOf("b") };
    const expected = `block 5: expected 2 of 3 endpoints to have the hash ${hashOf("b")}, found`;
    for (const [second, answer] of [
      [nodeAt(9), hashOf("a")],
      [down, "is down"],
    ] as const)
      await assert.rejects(assertAgreed([nodeAt(9), second, nodeAt(9, "b")], place, 2), {
        code: "unproved",
        message: `${expected} rpcs[0]: ${hashOf("a")}, rpcs[1]: ${answer}, rpcs[2]: ${hashOf("b")}`,
      });
  });
});

describe("blockHashOf", () => {
  test("throws `no_quorum` with the response of each endpoint", async () => {
    const heads = "rpcs[0]: 9, rpcs[1]: is down, rpcs[2]: of chain 10";
    const hashes = `rpcs[0]: ${hashOf("a")}, rpcs[1]: ${hashOf("b")}, rpcs[2]: ${hashOf("c")}`;
    for (const [rpcs, found] of [
      [[nodeAt(9), down, nodeAt(9, "a", 10)], `newest blocks: ${heads}`],
      [[nodeAt(9), nodeAt(9, "b"), nodeAt(9, "c")], `block 9: ${hashes}`],
    ] as const)
      await assert.rejects(blockHashOf(rpcs, { chainId: 1 }), {
        code: "no_quorum",
        message: `expected 2 of 3 endpoints to agree on a block; ${found}`,
      });
  });

  test("throws `no_quorum` if the chain is shorter than the confirmations", async () => {
    await assert.rejects(blockHashOf([nodeAt(3)], { chainId: 1, confirmations: 4 }), {
      code: "no_quorum",
    });
  });

  test("returns a block that a quorum has reached, even if one node is far ahead", async () => {
    const rpcs = [nodeAt(900, "f"), nodeAt(9), nodeAt(8)];
    const found = await blockHashOf(rpcs, { chainId: 1, confirmations: 2 });
    assert.deepEqual(found, {
      ...{ chainId: 1, hash: hashOf("a"), number: 7 },
      ...{ timestamp: 70, head: 9 },
    });
  });
});
