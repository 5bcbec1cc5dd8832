// Tests the rules for new intents, and the suggestions for misspelled functions. Compares the list
// of reserved words with the compiler.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
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
import { isReserved, reservedWords } from "./new-intent.ts";

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

const solc = createRequire(import.meta.url)("solc") as {
  compile(input: string): string;
  version(): string;
};

/** Returns the words that the compiler rejects. `source` returns source code that uses a word. */
function refusedBySolc(words: readonly string[], source: (word: string) => string): string[] {
  const settings = { outputSelection: { "*": { "*": ["abi"] } } };
  let left = words;
  for (;;) {
    const sources = Object.fromEntries(
      left.map((word) => [word, { content: `contract C { ${source(word)} }` }]),
    );
    const input = { language: "Solidity", sources, settings };
    const { errors = [] } = JSON.parse(solc.compile(JSON.stringify(input))) as {
      errors?: { severity: string; sourceLocation: { file: string } }[];
    };
    const fatal = errors.filter(({ severity }) => severity === "error");
    const found = new Set(fatal.map(({ sourceLocation }) => sourceLocation.file));
    // If the compiler refuses a file, the compiler skips its later stages for all files. The loop
    // therefore compiles the remaining files again, until the compiler accepts every file.
    if (found.size === 0) return words.filter((word) => !left.includes(word));
    left = left.filter((word) => !found.has(word));
  }
}

const free = `at error from global layout revert transient leave abi msg block tx now self owner __
  require assert keccak256 sha256 gasleft selfdestruct suicide szabo finney erc7201 result $ a$ _1`;
const sized = `uint8 uint256 uint7 uint0 uint08 uint264 int8 int9 int256 int257 bytes1 bytes32
  bytes0 bytes33 bytes032 bytes1x1 uint8x1 fixed8 fixed8x fixed8x0 fixed8x00 fixed8x80
  fixed8x81 fixed08x1
  fixed128x18 fixed7x1 ufixed8x0 ufixed256x80 ufixed264x80`;

describe("reserved words of Solidity", () => {
  const words = [...reservedWords, ...free.split(/\s+/), ...sized.split(/\s+/)];

  test("these tests use the compiler version of the contracts", () => {
    assert.match(solc.version(), /^0\.8\.37\+/);
  });

  test("isReserved returns true if and only if solc refuses the function name", () => {
    const refused = refusedBySolc(words, (word) => `function ${word}() external {}`);
    assert.deepEqual(
      words.filter((word) => isReserved(word, "function")),
      refused,
    );
    for (const allowed of ["_", "fallback", "receive", "super", "this"])
      assert.ok(!refused.includes(allowed), allowed);
  });

  test("isReserved returns true if and only if solc refuses the parameter name", () => {
    const refused = refusedBySolc(words, (word) => `function f(bool ${word}) external {}`);
    assert.deepEqual(
      words.filter((word) => isReserved(word, "parameter")),
      refused,
    );
    assert.ok(refused.includes("_"));
  });

  test("encodeNewIntent refuses a reserved word, and parseIntent accepts it", () => {
    const intent = withCall("f(bool memory)", "true");
    assert.doesNotThrow(() => parseIntent(intent));
    assert.throws(
      () => encodeNewIntent(intent),
      /a different parameter name: memory is a reserved word/,
    );
    assert.doesNotThrow(() => encodeNewIntent(withCall("receive(bool from)", "true")));
  });
});
