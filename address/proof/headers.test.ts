// Encodes JSON-RPC blocks of five chains other than Ethereum as headers (spec/header-vectors.json).
// The blocks' hashes prove that the bytes are correct.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { toHex } from "../abi/hex.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { listHeaders } from "./build/fields.ts";
import { readHeader, readTrustedHeader } from "./header.ts";

type Block = Readonly<Record<string, string>> & { readonly hash: string };
type Vector = { readonly chain: string; readonly chainId: number; readonly block: Block };

const file = new URL("../../spec/header-vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as Vector[];
const keccak = chooseKeccak({});
const findHeader = (block: Block) =>
  [...listHeaders(block)].find((bytes) => toHex(keccak(bytes)) === block.hash);

describe("block headers of other chains", () => {
  for (const { chain, block } of vectors) {
    test(`findHeader returns undefined for a changed block of ${chain}`, () => {
      for (const name of ["stateRoot", "receiptsRoot", "extraData", "mixHash"]) {
        const changed = block[name]!.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
        assert.equal(findHeader({ ...block, [name]: changed }), undefined, name);
      }
      for (const name of ["timestamp", "gasUsed", "baseFeePerGas", "blockGasCost"]) {
        if (block[name] === undefined) continue;
        const more = `0x${(BigInt(block[name]) + 1n).toString(16)}`;
        assert.equal(findHeader({ ...block, [name]: more }), undefined, name);
      }
    });

    test(`readTrustedHeader throws if the header of ${chain} is not the trusted one`, () => {
      const other = `0x${"ab".repeat(32)}`;
      assert.throws(() => readTrustedHeader(findHeader(block)!, other, keccak), {
        code: "invalid_proof",
        message: `header: expected the block ${other}, found ${block.hash}`,
      });
    });

    test(`readHeader returns the roots, number, and time of a block of ${chain}`, () => {
      const bytes = findHeader(block)!;
      const header = readTrustedHeader(bytes, block.hash, keccak);
      assert.deepEqual(header, readHeader(bytes, keccak));
      for (const name of ["parentHash", "stateRoot", "transactionsRoot", "receiptsRoot"] as const)
        assert.equal(toHex(header[name]), block[name], name);
      assert.equal(header.number, Number(block.number));
      assert.equal(header.timestamp, Number(block.timestamp));
    });
  }

  test("the test blocks are from five chains", () => {
    assert.deepEqual(
      new Set(vectors.map(({ chainId }) => chainId)),
      new Set([42161, 8453, 43114, 137, 10]),
    );
  });
});
