// The lists that functions are held to, each asked of its source.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { toFunctionSelector } from "viem";
import { InvalidError, parseIntent } from "../index.ts";
import { shop, withCall } from "../test/samples.ts";
import { reservedWords } from "./reserved.ts";
import { wellKnown } from "./selectors.ts";

const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };

/** Those of `words` that the compiler refuses to name a function. */
function refusedBySolc(words: string[]): string[] {
  const content = (word: string) => `interface I { function ${word}() external; }`;
  const sources = Object.fromEntries(words.map((word) => [word, { content: content(word) }]));
  const settings = { outputSelection: {}, stopAfter: "parsing" };
  const input = { language: "Solidity", sources, settings };
  const { errors = [] } = JSON.parse(solc.compile(JSON.stringify(input))) as {
    errors?: { severity: string; sourceLocation: { file: string } }[];
  };
  const fatal = errors.filter(({ severity }) => severity === "error");
  return words.filter((word) => fatal.some(({ sourceLocation }) => sourceLocation.file === word));
}

describe("function", () => {
  test("reserved_word for every word that solc refuses as a name, and for no other", () => {
    const words = [...reservedWords];
    // These four pass solc's parser as a function's name, and fail as a parameter's.
    const late = ["this", "super", "fallback", "receive"];
    assert.deepEqual(
      refusedBySolc(words),
      words.filter((word) => !late.includes(word)),
    );
    const free =
      "at error from global layout revert transient leave abi msg block tx now self owner";
    assert.deepEqual(refusedBySolc(free.split(" ")), []);
    for (const word of free.split(" "))
      assert.doesNotThrow(() => parseIntent(withCall(`f(bool ${word})`, "true")));
    for (const word of [...words, "uint8", "int256", "bytes32", "fixed128x18"])
      assert.throws(() => parseIntent(withCall(`f(bool ${word})`, "true")), /word of Solidity/);
  });

  test("selector_clash for every well-known selector under another signature", () => {
    for (const [selector, signature] of wellKnown)
      assert.equal(toFunctionSelector(`function ${signature}`), selector, signature);
  });

  test("well-known functions themselves are accepted", () => {
    const approve = withCall("approve(address spender, uint256 amount)", shop, "1");
    assert.doesNotThrow(() => parseIntent(approve));
  });

  test("not_canonical, with a spelling that is accepted, for what Solidity lets one write", () => {
    const spellings = {
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
