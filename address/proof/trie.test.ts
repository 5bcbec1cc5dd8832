// Compares our tries with @ethereumjs/mpt on tries of any shape.

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
import { decodeRlp, encodeCount, encodeRlp, type Rlp } from "./rlp.ts";
import { proveInTrie } from "./trie.ts";

describe("tries", () => {
  test("tries match `@ethereumjs/mpt`, including proofs of absence", async () => {
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

  test("an empty trie proves that it contains nothing", () => {
    const root = keccak256(Uint8Array.of(0x80));
    assert.equal(proveInTrie(root, Uint8Array.of(1), [], keccak256), undefined);
    const nodes = [Uint8Array.of(0x80)];
    assert.equal(proveInTrie(root, Uint8Array.of(1), nodes, keccak256), undefined);
  });
});

describe("malformed nodes of a trie", () => {
  const hash = new Uint8Array(32);
  const nowhere = "trie: expected an extension with a path and a child";
  const nodes: [string, Rlp, message: string][] = [
    ["an extension without a child", [Uint8Array.of(0x11), new Uint8Array()], nowhere],
    ["an extension with an empty path", [Uint8Array.of(0x00), hash], nowhere],
    [
      "a leaf without a value",
      [Uint8Array.of(0x20, 0x12), new Uint8Array()],
      "trie: expected a leaf with a value",
    ],
    [
      "a path with unknown flags",
      [Uint8Array.of(0x40), hash],
      "trie: expected a path with valid flags",
    ],
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

test("proveInTrie throws `invalid_proof` with both hashes if a node is wrong", () => {
  const [bytes, root] = [Uint8Array.of(0x80), new Uint8Array(32).fill(7)];
  assert.throws(() => proveInTrie(root, Uint8Array.of(0x12), [bytes], keccak256), {
    code: "invalid_proof",
    message: `trie: expected node ${toHex(root)}, found ${toHex(keccak256(bytes))}`,
  });
});

test("readReceiptLogs throws `invalid_proof` for the receipt of a failed transaction", () => {
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
  test("decoding RLP refuses encodings that are not canonical", () => {
    const early = "RLP: expected more bytes, found the end of the data";
    const behind = "RLP: expected the end of the data, found more bytes";
    const asTwo = "RLP: expected a single byte to encode itself, found a prefix";
    const inTooMany = "RLP: expected the shortest encoding of a length";
    const texts: [hex: string, message: string][] = [
      ["", early],
      ["81", early],
      ["8101", asTwo],
      ["b800", inTooMany],
      ["b90001", inTooMany],
      ["c1", early],
      ["c28101", asTwo],
      ["f800", inTooMany],
      ["8080", behind],
      ["bf", inTooMany],
      ["c88080", early],
      ["c9c8c7c6c5c4c3c2c1c0", early], // ten deep
    ];
    for (const [hex, message] of texts)
      assert.throws(() => decodeRlp(Uint8Array.from(Buffer.from(hex, "hex"))), {
        code: "invalid_proof",
        message,
      });
  });

  test("encoding and decoding RLP match `@ethereumjs/rlp` for random items", () => {
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

  test("random RLP that decodes is encoded to the same bytes", () => {
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
