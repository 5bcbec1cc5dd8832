import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAddress } from "./checksum.ts";

describe("isAddress", () => {
  const digits = "aB".repeat(20);

  test("isAddress returns false for malformed strings and for values of other types", () => {
    const others = [undefined, null, 7, [`0x${digits}`], "", digits, `0X${digits}`];
    const texts = [`0x${digits}0`, `0x${digits.slice(1)}`, `0x${"g".repeat(40)}`, `0x${digits}\n`];
    for (const value of [...others, ...texts]) assert.equal(isAddress(value), false, `${value}`);
  });

  test("isAddress accepts uppercase and lowercase digits and ignores the checksum", () => {
    assert.ok(isAddress(`0x${digits}`) && isAddress(`0x${digits.toLowerCase()}`));
  });
});
