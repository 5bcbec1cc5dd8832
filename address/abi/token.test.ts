import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { encodeBalanceOf, encodeCall, encodeTransfer, toHex } from "../index.ts";
import type { Hex } from "./hex.ts";

const token: Hex = "0x2222222222222222222222222222222222222222";
const other: Hex = "0xB9BDa55AD0a72e9D4D1BB9A4e0B1BD8Ac0b499c9";

/** Encodes a call with the encoder for intents, which supports any function. */
const byCodec = (text: string, ...args: string[]) =>
  toHex(encodeCall({ target: token, function: text, args }));

describe("encodeBalanceOf and encodeTransfer", () => {
  test("encodeBalanceOf returns the same calldata as encodeCall", () => {
    const owner = other.toLowerCase() as Hex;
    assert.equal(encodeBalanceOf(other), byCodec("balanceOf(address owner)", owner));
  });

  test("encodeTransfer returns the same calldata as encodeCall", () => {
    const to = other.toLowerCase() as Hex;
    for (const amount of [0n, 255n, 2n ** 256n - 1n]) {
      const wanted = byCodec("transfer(address to, uint256 amount)", to, String(amount));
      assert.equal(encodeTransfer(other, amount), wanted);
    }
  });
});
