// Tests that doc comments of response shapes become descriptions and constraints.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { callsMax } from "executable-address/shapes";
import { eventTypes } from "executable-address/webhook";
import { parseComment } from "./comments.ts";

describe("parseComment", () => {
  for (const tag of ["maxItems", "maxLength", "maximum"])
    test(`refuses @${tag} with a name that is not a limit`, () =>
      assert.throws(() => parseComment(`@${tag} callMax`), {
        message: new RegExp(`^@${tag}: expected one of .*\\bcallsMax, .*, found callMax$`),
      }));

  for (const name of ["32", "toString", "mistakes"])
    test(`refuses @maxItems ${name}, because a limit is the name of a constant`, () =>
      assert.throws(() => parseComment(`@maxItems ${name}`), { message: /, found \w+$/ }));

  test("refuses @values with the name of an unknown list", () =>
    assert.throws(() => parseComment("@values callsMax"), {
      message: /^@values: expected one of eventTypes, .*, found callsMax$/,
    }));

  test("refuses an unknown tag", () =>
    assert.throws(() => parseComment("@most 3"), {
      message: "unknown tag @most in a doc comment",
    }));

  test("replaces the name of a limit with its value", () => {
    assert.deepEqual(parseComment("@maxItems callsMax").tags, { maxItems: callsMax });
    assert.deepEqual(parseComment("@values eventTypes").tags, { enum: eventTypes });
    assert.deepEqual(parseComment("@minItems 1\n@pattern ^a$").tags, {
      minItems: 1,
      pattern: "^a$",
    });
  });

  test("replaces a link to a limit in the description, and quotes other links", () => {
    const { description } = parseComment(
      "At most {@link termsBytesMax} bytes of {@link encodeTerms}.",
    );
    assert.equal(description, "At most 24,576 bytes of `encodeTerms`.");
  });
});
