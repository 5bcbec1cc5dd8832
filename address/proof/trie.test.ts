// Compares Merkle Patricia tries of many shapes with the tries of @ethereumjs/mpt.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMerkleProof, createMPT, verifyMerkleProof } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { isLong } from "../../scripts/long.ts";
import { toHex } from "../abi/hex.ts";
import { keccak256 } from "../keccak/keccak.ts";
import { randomFrom } from "../test/random.ts";
import { buildProof } from "./build/trie.ts";
import { readReceiptLogs } from "./execution.ts";
import {
  decodeCount,
  decodeRlp,
  encodeCount,
  encodeRlp,
  expectBytes,
  expectList,
  type Rlp,
} from "./rlp.ts";
import { proveInTrie } from "./trie.ts";

describe("Merkle Patricia tries", () => {
  test("proveInTrie accepts proofs from `@ethereumjs/mpt`", async () => {
    const random = randomFrom(26);
    for (let round = 0; round < (isLong ? 1000 : 150); round++) {
      const trie = await createMPT();
      const keys = Array.from({ length: 1 + random.below(40) }, (_, i) =>
        round % 2 ? random.bytes(32) : encodeRlp(encodeCount(i)),
      );
      const entries = keys.map((key) => ({ key, value: random.bytes(1 + random.below(80)) }));
      for (const { key, value } of entries) await trie.put(key, value);
      const { key, value } = entries[random.below(entries.length)]!;
      const ours = buildProof(entries, key, keccak256);
      assert.deepEqual(ours.root, trie.root());
      assert.deepEqual(proveInTrie(trie.root(), key, ours.nodes, keccak256), value);
      const theirs = (await createMerkleProof(trie, key)).filter(
        (node, index) => index === 0 || node.length >= 32,
      );
      assert.deepEqual(ours.nodes, theirs);
      assert.deepEqual(await verifyMerkleProof(key, ours.nodes), value);
      const other = round % 2 ? random.bytes(32) : encodeRlp(encodeCount(keys.length));
      const absence = (await createMerkleProof(trie, other)).filter(
        (node, index) => index === 0 || node.length >= 32,
      );
      assert.equal(proveInTrie(trie.root(), other, absence, keccak256), undefined);
    }
  });

  test("proveInTrie returns undefined for an empty trie", () => {
    const root = keccak256(Uint8Array.of(0x80));
    assert.equal(proveInTrie(root, Uint8Array.of(1), [], keccak256), undefined);
    const nodes = [Uint8Array.of(0x80)];
    assert.equal(proveInTrie(root, Uint8Array.of(1), nodes, keccak256), undefined);
  });
});

describe("malformed nodes of a trie", () => {
  const hash = new Uint8Array(32);
  const flags = "trie: expected a path with valid flags";
  const nowhere = "trie: expected an extension with a path and a child, found a path of";
  const nodes: [string, Rlp, message: string][] = [
    [
      "an extension without a child",
      [Uint8Array.of(0x11), new Uint8Array()],
      `${nowhere} 1 nibbles and no child`,
    ],
    [
      "an extension with an empty path",
      [Uint8Array.of(0x00), hash],
      `${nowhere} 0 nibbles and a child`,
    ],
    [
      "a leaf without a value",
      [Uint8Array.of(0x20, 0x12), new Uint8Array()],
      "trie: expected a leaf with a value, found 0 bytes",
    ],
    ["a path with unknown flags", [Uint8Array.of(0x40), hash], `${flags}, found 0x40`],
    ["a path with padding", [Uint8Array.of(0x05), hash], `${flags}, found 0x05`],
    ["a path without flags", [new Uint8Array(), hash], `${flags}, found 0x`],
    ["a list as a path", [[], hash], "trie's path: expected some bytes, found a list of 0"],
    [
      "a node with three items",
      [hash, hash, hash],
      "trie: expected a node with 2 or 17 items, found 3",
    ],
    ["no list", Uint8Array.of(1), "trie: expected a node, found 1 bytes"],
  ];
  for (const [name, node, message] of nodes) {
    test(`\`invalid_proof\`: ${name}`, () => {
      const bytes = encodeRlp(node);
      assert.throws(() => proveInTrie(keccak256(bytes), Uint8Array.of(0x12), [bytes], keccak256), {
        code: "invalid_proof",
        message,
      });
    });
  }
});

test("proveInTrie throws if the proof has too many nodes", () => {
  const key = Uint8Array.of(0x12);
  const { root, nodes } = buildProof([{ key, value: key }], key, keccak256);
  assert.deepEqual(proveInTrie(root, key, nodes, keccak256), key);
  for (const more of [nodes, [...nodes, ...nodes]])
    assert.throws(() => proveInTrie(root, key, [...nodes, ...more], keccak256), {
      code: "invalid_proof",
      message: `trie: expected 1 nodes, found ${1 + more.length}`,
    });
});

test("proveInTrie throws if a node is missing", () => {
  const key = Uint8Array.of(0x12);
  const { root } = buildProof([{ key, value: key }], key, keccak256);
  assert.throws(() => proveInTrie(root, key, [], keccak256), {
    code: "invalid_proof",
    message: `trie: expected node ${toHex(root)}, found none`,
  });
});

test("the error of proveInTrie contains at most 32 bytes of an invalid reference", () => {
  const bytes = encodeRlp([Uint8Array.of(0x11), new Uint8Array(1000).fill(9)]);
  assert.throws(() => proveInTrie(keccak256(bytes), Uint8Array.of(0x12), [bytes], keccak256), {
    code: "invalid_proof",
    message: `trie: expected node 0x${"09".repeat(32)}, found none`,
  });
});

test("proveInTrie throws if the hash of a node is not the expected hash", () => {
  const [bytes, root] = [Uint8Array.of(0x80), new Uint8Array(32).fill(7)];
  assert.throws(() => proveInTrie(root, Uint8Array.of(0x12), [bytes], keccak256), {
    code: "invalid_proof",
    message: `trie: expected node ${toHex(root)}, found ${toHex(keccak256(bytes))}`,
  });
});

test("readReceiptLogs throws if the transaction failed", () => {
  for (const [status, found] of [
    [new Uint8Array(), "0x"],
    [Uint8Array.of(2), "0x02"],
  ] as const) {
    const receipt = encodeRlp([status, new Uint8Array(), new Uint8Array(256), []]);
    assert.throws(() => readReceiptLogs(receipt), {
      code: "invalid_proof",
      message: `receipt: expected success, found status ${found}`,
    });
  }
});

describe("RLP", () => {
  test("decodeRlp refuses an encoding that is not canonical", () => {
    const early = (wanted: number, found: number) =>
      `RLP: expected at least ${wanted} bytes, found ${found}`;
    const asTwo = "RLP: expected no prefix before a single byte below 0x80";
    const inTooMany = (size: number, length: number) =>
      `RLP: expected the shortest encoding of a length, found ${size} bytes for ${length}`;
    const texts: [hex: string, message: string][] = [
      ["", early(1, 0)],
      ["81", early(2, 1)],
      ["8101", asTwo],
      ["b800", inTooMany(1, 0)],
      ["b90001", inTooMany(2, 1)],
      ["c1", early(2, 1)],
      ["c28101", asTwo],
      ["f800", inTooMany(1, 0)],
      ["8080", "RLP: expected 1 bytes, found 2"],
      ["bf", inTooMany(8, 0)],
      ["c88080", early(9, 3)],
      ["c9c8c7c6c5c4c3c2c1c0", "RLP: expected at most 8 nested lists, found 9"],
    ];
    for (const [hex, message] of texts)
      assert.throws(() => decodeRlp(Uint8Array.from(Buffer.from(hex, "hex"))), {
        code: "invalid_proof",
        message,
      });
  });

  test("an RLP item of the wrong type throws `invalid_proof`", () => {
    const nine = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const integer = "block: expected an integer up to 2^53 - 1, found";
    for (const [read, message] of [
      [() => decodeCount(Uint8Array.of(0, 7), "block"), `${integer} 0x0007`],
      [() => decodeCount(nine, "block"), `${integer} ${toHex(nine.subarray(0, 9))}`],
      [() => decodeCount([], "block"), "block: expected some bytes, found a list of 0"],
      [() => expectBytes(nine, "root", 32), "root: expected 32 bytes, found 10 bytes"],
      [() => expectBytes(undefined, "root", 32), "root: expected 32 bytes, found nothing"],
      [() => expectList(nine, "logs"), "logs: expected a list, found 10 bytes"],
      [() => expectList([nine], "log", 3, 3), "log: expected a list of 3 to 3, found a list of 1"],
    ] as const)
      assert.throws(read, { code: "invalid_proof", message });
  });

  test("encodeRlp returns the same bytes as `@ethereumjs/rlp`", () => {
    const random = randomFrom(7);
    const item = (depth: number): Rlp =>
      depth > 0 && random.below(2)
        ? Array.from({ length: random.below(5) }, () => item(depth - 1))
        : random.bytes(random.below(3) ? random.below(4) : random.below(300));
    for (let i = 0; i < 2000; i++) {
      const drawn = item(5);
      const bytes = encodeRlp(drawn);
      assert.deepEqual(bytes, RLP.encode(drawn as Uint8Array));
      assert.deepEqual(encodeRlp(decodeRlp(bytes)), bytes);
    }
  });

  test("encodeRlp returns the original bytes if decodeRlp accepts random bytes", () => {
    const random = randomFrom(8);
    let accepted = 0;
    for (let i = 0; i < (isLong ? 100_000 : 20_000); i++) {
      const bytes = random.bytes(1 + random.below(12));
      try {
        assert.deepEqual(encodeRlp(decodeRlp(bytes)), bytes);
        accepted += 1;
      } catch (error) {
        assert.equal((error as { code: string }).code, "invalid_proof");
      }
    }
    assert.ok(accepted > 100);
  });
});
