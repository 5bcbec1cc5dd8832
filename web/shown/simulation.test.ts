import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { sayWith } from "../ui/words/languages.ts";
import { sayAccount, sayChange } from "./simulation.ts";
import { en } from "./words/languages.ts";

const say = sayWith(en);
const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const target: Hex = "0x1111111111111111111111111111111111111111";
const recovery: Hex = "0x2222222222222222222222222222222222222222";
const zero: Hex = `0x${"0".repeat(40)}`;
const usdc = { symbol: "USDC", address: token, decimals: 6 };
const record = makeRecord({
  token,
  amount: "25000000",
  calls: [{ target, function: "visit()", args: [] }],
  expirationTimestamp: 1_900_000_000,
  recovery,
  salt: `0x${"00".repeat(32)}`,
  chainId: 1,
});

describe("the description of a balance change", () => {
  test("a balance change is shown with its sign", () => {
    assert.equal(sayChange("-25000000", token, usdc, say), "−25 USDC");
    assert.equal(sayChange("1500000", token, usdc, say), "+1.5 USDC");
    assert.equal(sayChange("1000000000000000", zero, undefined, say), "+0.0010 native coin");
    assert.equal(sayChange("-25000000", token, undefined, say), "−25\u202f000\u202f000 base units");
  });

  test("an account from the record is shown by its role", () => {
    assert.equal(sayAccount(record.address, record, {}, say), "this address");
    assert.equal(sayAccount(recovery, record, {}, say), "the return address");
    assert.equal(sayAccount(target, record, {}, say), "the contract of step 1");
    assert.equal(sayAccount(zero, record, {}, say), undefined);
  });
});
