import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeRecord } from "../index.ts";
import { sample } from "../test/samples.ts";
import {
  addressGroups,
  formatUnits,
  owed,
  paymentLink,
  plainUnits,
  shortAddress,
} from "./payment.ts";

const record = makeRecord(sample);

describe("paymentLink, owed, and addressGroups", () => {
  test("paymentLink returns an ERC-681 link that transfers the token", () => {
    assert.equal(
      paymentLink(record, "25000000"),
      `ethereum:${sample.token}@${sample.chainId}/transfer?address=${record.address}&uint256=25000000`,
    );
  });

  test("owed returns the missing amount, or 0 if nothing is missing", () => {
    assert.equal(owed("25", "10"), "15");
    assert.equal(owed("25", "25"), "0");
    assert.equal(owed("25", "40"), "0");
  });

  test("addressGroups splits an address into ten groups of four digits", () => {
    assert.equal(`0x${addressGroups(record.address).join("")}`, record.address);
    assert.equal(addressGroups(record.address).length, 10);
    assert.match(shortAddress(record.address), /^0x[0-9a-fA-F]{4}…[0-9a-fA-F]{4}…[0-9a-fA-F]{4}$/);
  });
});

describe("formatUnits and plainUnits", () => {
  const cases: [string, number, string][] = [
    ["0", 6, "0"],
    ["1", 6, "0.000001"],
    ["1500000", 6, "1.5"],
    ["25000000", 6, "25"],
    ["1234567890123", 6, "1\u202f234\u202f567.890123"],
    ["1234", 0, "1\u202f234"],
    ["1234000", 6, "1.2340"],
    ["1500000000", 6, "1\u202f500"],
    ["1000000000000000000", 18, "1"],
  ];
  for (const [amount, decimals, text] of cases) {
    test(`formatUnits formats ${amount} with ${decimals} decimals as ${text}`, () =>
      assert.equal(formatUnits(amount, decimals), text));
  }
  test("plainUnits does not group digits", () => {
    assert.equal(plainUnits("1234567890123", 6), "1234567.890123");
    assert.equal(plainUnits("25000000", 6), "25");
  });

  test("formatUnits keeps every digit of the largest amount", () => {
    const largest = (2n ** 256n - 1n).toString();
    assert.equal(formatUnits(largest, 18).replaceAll(/[\u202f.]/g, ""), largest);
  });
});
