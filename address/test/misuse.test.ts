// Tests that common programming mistakes, especially with hex and bytes, never result in a wrong
// address. A function that takes bytes also takes hex. Any other type causes an error.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { runInNewContext } from "node:vm";
import * as library from "../index.ts";
import { credentials } from "./answers.ts";
import { sample } from "./samples.ts";

// Calls the library without types, as JavaScript does.
// biome-ignore lint/suspicious/noExplicitAny: untyped code makes these wrong calls
const lib = library as any;
const record = library.makeRecord(sample);
const terms = library.fromHex(record.terms);
const factory = library.factoryAddress;
const digits = record.terms.slice(2);

const misuses: Record<string, [() => unknown, code: string]> = {
  "deriveAddress of hex without 0x": [() => lib.deriveAddress(digits), "malformed_hex"],
  "deriveAddress of an object": [() => lib.deriveAddress({}), "wrong_type"],
  "deriveAddress of a record": [() => lib.deriveAddress(record), "wrong_type"],
  "deriveAddress of an ArrayBuffer": [() => lib.deriveAddress(terms.buffer), "wrong_type"],
  "deriveAddress of words": [() => lib.deriveAddress(new Uint16Array(64)), "wrong_type"],
  "deriveAddress of an array of numbers": [() => lib.deriveAddress([...terms]), "wrong_type"],
  "deriveAddress of nothing": [() => lib.deriveAddress(), "wrong_type"],
  "deriveAddress for half a factory": [
    () => lib.deriveAddress(terms, { factory: "0x12" }),
    "malformed_address",
  ],
  "deriveAddress for a factory in bytes": [
    () => lib.deriveAddress(terms, { factory: new Uint8Array(20) }),
    "wrong_type",
  ],
  "decodeTerms of half a byte": [() => lib.decodeTerms("0x0"), "malformed_hex"],
  "decodeTerms of an intent": [() => lib.decodeTerms(sample), "wrong_type"],
  "decodeTerms of null": [() => lib.decodeTerms(null), "wrong_type"],
  "formatAddress of 32 bytes": [() => lib.formatAddress(new Uint8Array(32)), "wrong_length"],
  "formatAddress of 19 bytes": [() => lib.formatAddress(new Uint8Array(19)), "wrong_length"],
  "formatAddress of a hash in hex": [() => lib.formatAddress(sample.salt), "wrong_length"],
  "formatAddress of a number": [() => lib.formatAddress(1n), "wrong_type"],
  "parseAddress of bytes": [() => lib.parseAddress(new Uint8Array(20)), "wrong_type"],
  "toHex of text": [() => lib.toHex("hello"), "malformed_hex"],
  "toHex of a number": [() => lib.toHex(255), "wrong_type"],
  "fromHex of bytes": [() => lib.fromHex(terms), "malformed_hex"],
  "encodeTerms of terms": [() => lib.encodeTerms(terms), "wrong_type"],
  "encodeTerms of hex": [() => lib.encodeTerms(record.terms), "wrong_type"],
  "makeRecord of a record": [() => lib.makeRecord(record), "missing"],
  "encodeNewIntent of JSON text": [() => lib.encodeNewIntent(JSON.stringify(sample)), "wrong_type"],
  "verifyRecord without a factory": [() => lib.verifyRecord(record, {}), "wrong_type"],
  "verifyRecord without options": [() => lib.verifyRecord(record), "wrong_type"],
  "verifyRecord of JSON text": [
    () => lib.verifyRecord(JSON.stringify(record), { factory }),
    "wrong_type",
  ],
  "decodeExecutions of an object": [() => lib.decodeExecutions({}), "wrong_type"],
  "decodeExecutions of hex without 0x": [() => lib.decodeExecutions(digits), "malformed_hex"],
  "encodeExecution of a record": [() => lib.encodeExecution(record), "missing"],
  "encodeCall of an intent": [() => lib.encodeCall(sample), "missing"],
  "findCautions of nothing": [() => lib.findCautions(), "wrong_type"],
  "findCautions of a record": [() => lib.findCautions(record), "missing"],
};

describe("misuse", () => {
  for (const [name, [run, code]] of Object.entries(misuses))
    test(`\`InvalidError\` ${code}: ${name}`, () => {
      assert.throws(run, (error) => {
        assert.ok(error instanceof library.InvalidError, String(error));
        assert.ok(
          error.issues.some((issue) => issue.code === code),
          JSON.stringify(error.issues),
        );
        return true;
      });
    });

  test("an invalid `keccak` option throws `TypeError`", () => {
    for (const keccak of ["keccak", {}, null]) {
      assert.throws(() => lib.deriveAddress(terms, { keccak }), TypeError);
      assert.throws(() => lib.makeRecord(sample, { keccak }), TypeError);
      assert.throws(() => lib.verifyRecord(record, { factory, keccak }), TypeError);
    }
    for (const wrong of [record.terms, [1, 2], {}, terms.buffer, credentials])
      assert.throws(() => lib.keccak256(wrong), TypeError);
  });
});

describe("hex and bytes", () => {
  test("the error of fromHex does not repeat an invalid string", () => {
    for (const [value, found] of [
      ["0x0", "3 characters"],
      ["hello", "5 characters"],
      ["0xzz", "4 characters"],
      [undefined, "nothing"],
      [7, "7"],
      [terms, "an object"],
    ] as const)
      assert.throws(() => lib.fromHex(value), {
        name: "InvalidError",
        message: `expected 0x and an even number of hex digits, found ${found}`,
      });
  });

  test("hex strings are accepted where bytes are expected", () => {
    const upper = `0x${digits.toUpperCase()}`;
    for (const given of [terms, Buffer.from(terms), record.terms, upper]) {
      assert.equal(lib.formatAddress(lib.deriveAddress(given)), record.address);
      assert.deepEqual(lib.decodeTerms(given), sample);
      assert.equal(lib.toHex(given), record.terms);
    }
    assert.equal(lib.formatAddress(record.address.toLowerCase()), record.address);
  });

  test("a `Uint8Array` from another JavaScript context is accepted", () => {
    const foreign = runInNewContext("new Uint8Array(bytes)", { bytes: [...terms] });
    assert.ok(!(foreign instanceof Uint8Array));
    assert.equal(lib.formatAddress(lib.deriveAddress(foreign)), record.address);
  });
});
