import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createKeccak } from "hash-wasm";
import { keccak256, toHex } from "../index.ts";

describe("keccak-256", () => {
  test("keccak256 matches a WASM implementation for inputs of up to a megabyte", async () => {
    const hasher = await createKeccak(256);
    const lengths = [...Array(545).keys(), 24_576, 65_279, 65_280, 65_281, 65_536, 1_048_576, 0, 1];
    for (const length of lengths) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length) & 0xff);
      const wanted = hasher.init().update(bytes).digest("hex");
      assert.equal(toHex(keccak256(bytes)), `0x${wanted}`, `${length} bytes`);
    }
  });

  test("a call does not change the bytes that an earlier call returned", () => {
    const first = keccak256(new Uint8Array());
    const text = toHex(first);
    keccak256(new Uint8Array(1));
    assert.equal(toHex(first), text);
    assert.equal(text, "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  });
});
