import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAddress } from "./checksum.ts";

describe("isAddress", () => {
  const digits = "aB".repeat(20);

  test("isAddress returns false for values that are not text, and for malformed text", () => {
    const others = [undefined, null, 7, [`0x${digits}`], "", digits, `0X${digits}`];
    const texts = [`0x${digits}0`, `0x${digits.slice(1)}`, `0x${"g".repeat(40)}`, `0x${digits}\n`];
    for (const value of [...others, ...texts]) assert.equal(isAddress(value), false, `${value}`);
  });

  test("isAddress returns true for digits in either letter case with any checksum", () => {
    assert.ok(isAddress(`0x${digits}`) && isAddress(`0x${digits.toLowerCase()}`));
  });
});
