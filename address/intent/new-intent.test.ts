// Tests the rules for new intents, and the suggestions for misspelled functions.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  decodeTerms,
  encodeNewIntent,
  encodeTerms,
  factoryAddress,
  findCautions,
  InvalidError,
  makeRecord,
  parseIntent,
  verifyRecord,
} from "../index.ts";
import { sample, sampleCall, withCall } from "../test/samples.ts";

describe("functions that are not written in the canonical form", () => {
  test("the message suggests the canonical spelling of a function", () => {
    const names = Array.from({ length: 23 }, (_, at) => `a${at}`);
    const compact = `f(${names.map((name) => `uint ${name}`).join(",")})`;
    const full = `f(${names.map((name) => `uint256 ${name}`).join(", ")})`;
    assert.deepEqual([compact.length, full.length], [199, 290]);
    const spellings = {
      [compact]: full,
      "approve( address spender , uint amount )": "approve(address spender, uint256 amount)",
      "function f(bytes calldata a) external payable returns (bool)": "f(bytes a)",
      "f(tuple(uint a,int[2] b)[] c)": "f((uint256 a, int256[2] b)[] c)",
      "f(uint256 a) ;": "f(uint256 a)",
    };
    for (const [text, wanted] of Object.entries(spellings))
      assert.throws(
        () => parseIntent(withCall(text)),
        (error) => {
          assert.ok(error instanceof InvalidError);
          assert.equal(error.issues[0]?.code, "not_canonical");
          assert.ok(error.issues[0].message.endsWith(`write "${wanted}"`), error.message);
          return true;
        },
      );
  });
});

describe("findCautions", () => {
  const call = (text: string, ...args: string[]) => ({
    target: sampleCall.target,
    function: text,
    args,
  });

  test("findCautions reports reserved words and selector clashes with their paths", () => {
    const calls = [
      sampleCall,
      call("sign_szabo_bytecode(bytes16 a, uint128 b)", `0x${"00".repeat(16)}`, "1"),
      call("years((bool memory, bool ok)[] a)", "[]"),
    ];
    const intent = parseIntent({ ...sample, calls });
    const found = findCautions(intent).map(({ path, code }) => `${path.join(".")} ${code}`);
    const wanted = ["calls.1.function selector_clash", "calls.2.function reserved_word"];
    assert.deepEqual(found, [...wanted, wanted[1]]);
    assert.throws(() => encodeNewIntent(intent), InvalidError);
    assert.deepEqual(findCautions(sample), []);
  });

  test("decodeTerms and verifyRecord accept an intent with reserved words", () => {
    const intent = parseIntent(withCall("constructor(bool return)", "true"));
    assert.equal(findCautions(intent).length, 2);
    assert.deepEqual(decodeTerms(encodeTerms(intent)), intent);
    assert.doesNotThrow(() => verifyRecord(makeRecord(intent), { factory: factoryAddress }));
  });
});
