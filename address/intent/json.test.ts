import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InvalidError } from "../errors.ts";
import { parseJson, scanJson } from "./json.ts";

const issuesOf = (text: string) => {
  try {
    parseJson(text);
  } catch (error) {
    assert.ok(error instanceof InvalidError);
    return error.issues.map(({ code, message }) => `${code}: ${message}`);
  }
  return [];
};

describe("parseJson", () => {
  test("throws `not_json` for text that is not JSON", () => {
    assert.deepEqual(issuesOf('{"a":'), ["not_json: expected valid JSON, found 5 characters"]);
  });

  const repeated: [string, string][] = [
    ['{"a":1,"a":1}', '"a"'],
    ['{"a":1,"b":2,"\\u0061":1}', '"\\u0061"'],
    ['{"__proto__":1,"__proto__":2}', '"__proto__"'],
    ['{"":1 , "" : 2}', '""'],
    ['[{"a":{"a":["a:",{"b":{},"c":":","b":1}]}}]', '"b"'],
    ['{"a":{"b":1},"a":{"c":1,"c":1}}', '"a"'],
    ['{"\\"a\\\\":"\\\\","\\"a\\\\":1}', '"\\"a\\\\"'],
  ];
  for (const [text, key] of repeated)
    test(`throws repeated_field for the key ${key} in ${text}`, () => {
      assert.deepEqual(issuesOf(text), [`repeated_field: field ${key} is repeated`]);
    });

  test("accepts the same key in different objects, and punctuation in strings", () => {
    const value = { a: { a: [{ a: 1 }, { a: 2 }] }, b: '"{:,}\\', c: "a", '{"': { "\\": [] } };
    for (const indent of [0, 2])
      assert.deepEqual(parseJson(JSON.stringify(value, null, indent)), value);
  });
});

describe("scanJson", () => {
  test("does not visit punctuation inside strings, even if the JSON is invalid", () => {
    for (const [text, expected] of [
      ['{"a\\"":[1,"{"]}', '{"":[""]}'],
      ['"a\\', '"'],
      ['a"b', '"'],
      ['{"é":"\u2028"}\u{1f600}[', '{"":""}['],
    ] as const) {
      let visited = "";
      scanJson(text, '"{}[]:', (character, at) => {
        assert.equal(character, text[at]);
        visited += character;
        return undefined;
      });
      assert.equal(visited, expected);
    }
  });

  test("ends when `visit` returns true", () => {
    const visited: number[] = [];
    scanJson("[1,2,3]", "[,", (_, at) => visited.push(at) === 2);
    assert.deepEqual(visited, [0, 2]);
  });
});
