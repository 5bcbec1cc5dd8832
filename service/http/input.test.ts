import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InvalidError } from "executable-address";
import { z } from "zod";
import { integerInput, parseInput, parseJson } from "./input.ts";

const issuesOf = (text: string | Buffer) => {
  try {
    parseJson(Buffer.from(text));
  } catch (error) {
    assert.ok(error instanceof InvalidError);
    return error.issues;
  }
  return [];
};

describe("parseJson", () => {
  const refused: [string, string | Buffer, string][] = [
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "not_utf8"],
    ["text that is not JSON", "{", "not_json"],
    ["a repeated field", '{"a":1,"a":1}', "repeated_field"],
    ["a repeated field with another spelling", '{"a":1,"\\u0061":1}', "repeated_field"],
    [
      "more fields than any intent has",
      `{${"a".repeat(201).replace(/a/g, '"a":0,')}`,
      "too_many_fields",
    ],
    ["more values than any intent has", `[${"1,".repeat(2_000)}1]`, "too_many_values"],
  ];
  for (const [title, text, code] of refused) {
    test(`returns \`${code}\` for ${title}`, () => assert.equal(issuesOf(text)[0]?.code, code));
  }

  test("returns `not_utf8` with the number of bytes", () => {
    const [issue] = issuesOf(Buffer.from([0x22, 0xff, 0x22]));
    assert.equal(issue?.message, "expected a body in UTF-8, found 3 bytes in another encoding");
  });

  test("returns `too_many_values` with the limit", () => {
    const [issue] = issuesOf(`[${"1,".repeat(2_000)}1]`);
    assert.match(
      issue?.message ?? "",
      /at most 2000 commas and opening brackets in the body, found more$/,
    );
  });

  test("returns `not_an_integer` even for 31337.0 and 1E3", () => {
    for (const number of ["31337.0", "3133.7e1", "31337e0", "3.1337E4", "1E3", "-0.0"]) {
      const [issue] = issuesOf(`{"chainId":${number}}`);
      assert.deepEqual([issue?.code, issue?.path], ["not_an_integer", ["chainId"]], number);
    }
  });

  test("control: accepts integers, and text with any characters", () => {
    const value = { chainId: 31337, n: -1, a: ["1.5", "2e3: \\", true, false, null, { b: "{:}" }] };
    assert.deepEqual(parseJson(Buffer.from(JSON.stringify(value))), value);
  });
});

const large: [string, string][] = [
  ["fields", `{${Array.from({ length: 16_000 }, (_, i) => `"k${i}":0`).join(",")}}`],
  ["numbers that are no integers", `{"a":[${"1.0,".repeat(43_000)}1]}`],
  ["brackets", "[".repeat(85_000) + "]".repeat(85_000)],
  ["strings", `["${'","'.repeat(57_000)}"]`],
  ["an unfinished string", `"${"a".repeat(170_000)}`],
];
for (const [what, text] of large) {
  test(`170 kB of ${what} are refused within 2 ms of processor time`, () => {
    const body = Buffer.from(text);
    assert.ok(body.length > 160_000);
    for (let warm = 0; warm < 20; warm++) issuesOf(body);
    const runs = 20;
    const before = process.cpuUsage();
    for (let run = 0; run < runs; run++)
      assert.match(issuesOf(body)[0]?.code ?? "", /^too_many|^not_json$/);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / runs <= 2_000, `${(user + system) / runs} µs`);
  });
}

describe("parseInput", () => {
  test("refuses text with a NUL character", () => {
    const schema = z.strictObject({ email: z.string(), types: z.array(z.string()) });
    const found: Record<string, string> = { email: "12 characters", "types.1": "1 characters" };
    assert.throws(() => parseInput(schema, { email: "a\0@b.example", types: ["x", "\0"] }), {
      issues: ["email", "types.1"].map((path) => ({
        path: path.split(".").map((step) => (step === "1" ? 1 : step)),
        code: "nul",
        message: `expected text without a NUL character, found one in ${found[path]}`,
      })),
    });
    const plain = { email: "a@b.example", types: ["x", ""] };
    assert.deepEqual(parseInput(schema, plain), plain);
  });

  test("quotes no values in error messages, because a value can be a secret", () => {
    const schema = z.strictObject({
      password: z.string().max(9),
      days: z.int().max(9),
      types: z.array(z.enum(["a"])).max(1),
    });
    const right = { password: "secret", days: 1, types: ["a"] };
    for (const [change, message] of [
      [{ password: "secret9999" }, /<=9 characters, found 10 characters$/],
      [{ password: 7 }, /expected string, received number$/],
      [{ days: 10 }, /<=9, found 10$/],
      [{ types: ["a", "a"] }, /<=1 items, found 2 items$/],
      [{ types: ["secret"] }, /expected "a", found 6 characters$/],
      [{ types: undefined }, /expected array, received undefined$/],
      [{ more: 1 }, /^more|Unrecognized key: "more"$/],
    ] as const)
      assert.throws(() => parseInput(schema, { ...right, ...change }), {
        name: "InvalidError",
        message,
      });
  });

  test("accepts only one spelling of each integer between the minimum and the maximum", () => {
    const schema = z.strictObject({ days: integerInput(1, 92).default(30) });
    for (const days of [
      "1e1",
      "10.0",
      "0x10",
      " 10",
      "+5",
      "05",
      "-0",
      "",
      "0",
      "93",
      ["1", "2"],
    ]) {
      assert.throws(() => parseInput(schema, { days }), { name: "InvalidError" }, String(days));
    }
    assert.deepEqual(parseInput(schema, { days: "92" }), { days: 92 });
    assert.deepEqual(parseInput(schema, {}), { days: 30 });
  });
});
