// Tests cases that the test vectors cannot express: several faults, options, and malicious input.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  encodeNewIntent,
  encodeTerms,
  factoryAddress,
  type Hex,
  InvalidError,
  type Issue,
  makeRecord,
  parseAddress,
  parseIntent,
  type TermsOptions,
} from "../index.ts";
import { sample, sampleCall, shop, usdc, withCall } from "../test/samples.ts";

function issuesOf(value: unknown, options?: TermsOptions, parse: Parse = parseIntent): Issue[] {
  try {
    parse(value, options);
  } catch (error) {
    assert.ok(error instanceof InvalidError, String((error as Error).stack));
    return error.issues;
  }
  assert.fail("nothing was refused");
}

type Parse = (value: unknown, options?: TermsOptions) => unknown;

const codesOf = (value: unknown): string[] =>
  issuesOf(value).map(({ path, code }) => `${path.join(".")} ${code}`);

describe("parseIntent with an invalid intent", () => {
  test("parseIntent reports every error with its path", () => {
    const calls = [
      { ...sampleCall, target: "0x01", args: ["1e3", "no"] },
      { ...sampleCall, function: "pay(uint order)", args: [7] },
      null,
    ];
    const faulty = {
      token: "x",
      amount: 5,
      calls,
      recovery: usdc,
      salt: "0x",
      chainId: 0,
      tip: "1",
    };
    assert.deepEqual(codesOf(faulty), [
      "tip unknown_field",
      "expirationTimestamp missing",
      "calls.1.args.0 wrong_type",
      "calls.2 wrong_type",
      "token malformed_address",
      "amount wrong_type",
      "salt malformed_salt",
      "chainId out_of_range",
      "calls.0.target malformed_address",
      "calls.0.args.0 not_canonical",
      "calls.0.args.1 malformed_address",
      "calls.1.function not_canonical",
    ]);
  });

  test("parseIntent suggests the right spelling of a value", () => {
    const spelling = (value: unknown) => issuesOf(value)[0]!.message;
    assert.match(spelling({ ...sample, amount: "1e6" }), /write "1000000"/);
    assert.equal(
      spelling({ ...sample, salt: "0x12" }),
      "expected 32 bytes: 0x and 64 hex digits, found 4 characters",
    );
    assert.match(spelling({ ...sample, amount: "0x10" }), /write "16"/);
    assert.match(spelling({ ...sample, chain_id: 1 }), /write chainId/);
    assert.match(spelling({ ...sample, chainId: "8453" }), /write 8453 without quotes/);
    const solidity = "function pay(uint order,address payable to) external returns (bool);";
    assert.match(spelling(withCall(solidity)), /write "pay\(uint256 order, address to\)"/);
    const abi = "f(tuple(bytes memory a,uint[] b)[] c)";
    assert.match(spelling(withCall(abi)), /write "f\(\(bytes a, uint256\[\] b\)\[\] c\)"/);
    assert.match(
      spelling(withCall("f(bool[] a)", '["true", "false"]')),
      /write \["true","false"\]/,
    );
    assert.match(spelling(withCall("f(bool a)", true)), /write "true"/);
    assert.match(spelling({ ...sample, token: usdc.replace("A0b", "a0B") }), new RegExp(usdc));
  });

  test("parseIntent suggests a string for an argument that is not a string", () => {
    const tuple = "f((uint8 a, (bool b, int8 c) d, bool[] e) s)";
    const spelled: [string, unknown, string][] = [
      ["f(uint8 a)", 7, '"7"'],
      ["f(bool a)", true, '"true"'],
      ["f(uint8[] a)", ["1", "2"], '"[\\"1\\",\\"2\\"]"'],
      [tuple, [1, [true, -2], []], '"[\\"1\\",[\\"true\\",\\"-2\\"],[]]"'],
    ];
    for (const [text, arg, spelling] of spelled) {
      const [{ path, code, message } = assert.fail()] = issuesOf(withCall(text, arg));
      assert.deepEqual([...path, code], ["calls", 0, "args", 0, "wrong_type"]);
      assert.ok(message.endsWith(`: write ${spelling}`), message);
      assert.doesNotThrow(() => parseIntent(withCall(text, JSON.parse(spelling))));
    }
  });

  test("parseIntent makes no suggestion for an ambiguous or long value", () => {
    const circle: unknown[] = [];
    circle.push(circle, circle);
    let wide: unknown = "1";
    for (let i = 0; i < 60; i++) wide = [wide, wide];
    const sparse: unknown[] = ["1"];
    sparse.length = 3;
    const unsure = [1.5, 2 ** 53, 1e21, Number.NaN, null, {}, [null], [{}], [1.5], ["\u202e"]];
    for (const arg of [...unsure, circle, wide, sparse, Array(5000).fill("1"), ["9".repeat(300)]]) {
      const [{ code, message } = assert.fail()] = issuesOf(withCall("f(uint8[] a)", arg));
      assert.equal(code, "wrong_type");
      assert.doesNotMatch(message, /write/);
    }
  });

  test("parseIntent suggests strings for array elements that are not strings", () => {
    const taken: [string, string, string][] = [
      ["uint8", "255", "255"],
      ["int8", "-128", "-128"],
      ["bool", "true", "true"],
      ["string", "7", "7"],
    ];
    for (const [type, item, spelling] of taken) {
      const [{ path, code, message } = assert.fail()] = issuesOf(
        withCall(`f(${type}[] a)`, `[${item}]`),
      );
      assert.deepEqual([...path, code], ["calls", 0, "args", 0, 0, "wrong_type"]);
      assert.ok(message.endsWith(`: write "${spelling}"`), message);
      assert.doesNotThrow(() => parseIntent(withCall(`f(${type}[] a)`, `["${spelling}"]`)));
    }
    const refused: [string, string][] = [
      ["uint256", "1.5"],
      ["uint256", "9007199254740993"],
      ["uint256", "1e21"],
      ["uint8", "256"],
      ["uint8", "-1"],
      ["uint8", "true"],
      ["uint8", "null"],
      ["uint8", "{}"],
      ["uint8", '["1"]'],
      ["bool", "1"],
      ["address", "1"],
      ["bytes2", "1234"],
      ["bytes", "1"],
      ["string", "1.5"],
    ];
    for (const [type, item] of refused) {
      const [{ path, code, message } = assert.fail()] = issuesOf(
        withCall(`f(${type}[] a)`, `[${item}]`),
      );
      assert.deepEqual([...path, code], ["calls", 0, "args", 0, 0, "wrong_type"]);
      assert.doesNotMatch(message, /write/);
    }
  });

  test("parseIntent refuses an amount with a decimal point", () => {
    const pointed = ["25.0", "25.", "1.5", ".5", "1,000.00", "2.5e1", "25.0 USDC"];
    const values = [
      ...pointed.map((amount) => ({ ...sample, amount })),
      { ...sample, amount: 2.5 },
    ];
    for (const value of [...values, withCall("f(uint256 a)", "25.0")]) {
      const [{ message } = assert.fail()] = issuesOf(value);
      assert.match(message, /amounts are in base units \(one token is 10\^decimals base units\)$/);
      assert.doesNotMatch(message, /write/);
    }
  });

  test("parseIntent reports at most 100 errors", () => {
    const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`field${i}`, 1]));
    assert.equal(issuesOf({ ...sample, ...fields }).length, 100);
  });

  test("an error does not quote a long or unsafe value", () => {
    const hostile = ["\u202e0x1", "<script>\u0000", "9".repeat(81), "x".repeat(5000)];
    for (const text of hostile) {
      const issues = [
        ...issuesOf({ ...sample, amount: text, token: text, salt: text, [text]: text }),
        ...issuesOf(withCall(text)),
        ...issuesOf(withCall("f(bool a, uint8[] b, bytes c)", text, text, text)),
      ];
      for (const { message, path } of issues) {
        assert.match(message, /^[ -~]{1,400}$/);
        assert.match(path.join("."), /^[ -~]{0,200}$/);
      }
    }
  });

  test("parseIntent reports `not_an_integer` for -0, `NaN`, `Infinity`, and 0.5", () => {
    for (const expirationTimestamp of [-0, Number.NaN, Number.POSITIVE_INFINITY, 0.5])
      assert.deepEqual(codesOf({ ...sample, expirationTimestamp }), [
        "expirationTimestamp not_an_integer",
      ]);
  });

  test("parseIntent ignores inherited fields", () => {
    const inherited = Object.create(sample);
    assert.equal(issuesOf(inherited).filter(({ code }) => code === "missing").length, 7);
    const { salt, ...rest } = sample;
    assert.deepEqual(codesOf(Object.assign(Object.create({ salt }), rest)), ["salt missing"]);
  });

  test("parseIntent reports `wrong_type` for an object, a bigint, or a hole in an array", () => {
    const holes = new Array(2);
    assert.deepEqual(codesOf({ ...sample, calls: holes }), [
      "calls.0 wrong_type",
      "calls.1 wrong_type",
    ]);
    assert.deepEqual(codesOf({ ...sample, amount: new String("1") }), ["amount wrong_type"]);
    assert.deepEqual(codesOf({ ...sample, token: { toString: () => usdc } }), ["token wrong_type"]);
    assert.deepEqual(codesOf({ ...sample, amount: 1n }), ["amount wrong_type"]);
  });

  test("parseIntent reports `too_many` for an array with a length of four billion", () => {
    const calls: unknown[] = [];
    calls.length = 4_294_967_295;
    assert.deepEqual(codesOf({ ...sample, calls }), ["calls too_many"]);
  });

  test("parseIntent reports `invalid_unicode` for a lone surrogate", () => {
    for (const text of ["a\ud800b", "\udc00", "\ud800"])
      assert.deepEqual(codesOf(withCall("f(string a)", text)), ["calls.0.args.0 invalid_unicode"]);
  });

  test("parseIntent reports a malformed `options.factory`", () => {
    const [issue] = issuesOf(sample, { factory: "0x12" });
    assert.deepEqual(issue?.path, ["factory"]);
  });

  test("parseIntent reports `recovery_is_factory` if recovery is `options.factory`", () => {
    assert.doesNotThrow(() =>
      parseIntent({ ...sample, recovery: factoryAddress }, { factory: shop }),
    );
    const [issue] = issuesOf({ ...sample, recovery: shop }, { factory: shop });
    assert.equal(issue?.code, "recovery_is_factory");
  });

  test("parseIntent does not accept an intent inside another object", () => {
    const [first, ...others] = codesOf({ intent: sample });
    assert.equal(first, "intent unknown_field");
    assert.equal(others.length, 7);
    assert.ok(others.every((code) => code.endsWith(" missing")));
  });
});

describe("encodeNewIntent", () => {
  test("encodeNewIntent reports its own errors and those from `options.check`", () => {
    const unlisted: Issue = { path: ["token"], code: "unlisted_token", message: "not listed" };
    const seen: unknown[] = [];
    const check = (fields: object) => {
      seen.push(fields);
      return [unlisted];
    };
    const clash = { ...sampleCall, function: "gasprice_bit_ether(int128 this)", args: ["1"] };
    const faulty = { ...sample, amount: "0", calls: [sampleCall, clash] };
    const issues = issuesOf(faulty, undefined, (value) => encodeNewIntent(value, { check }));
    assert.deepEqual(
      issues.map(({ path, code }) => `${path.join(".")} ${code}`),
      [
        "amount out_of_range",
        "calls.1.function reserved_word",
        "calls.1.function selector_clash",
        "token unlisted_token",
      ],
    );
    const { amount, calls, ...right } = { ...sample };
    assert.deepEqual(JSON.parse(JSON.stringify(seen[0])), right);
  });

  test("encodeNewIntent generates a missing salt", () => {
    const { salt, ...rest } = sample;
    assert.equal(encodeNewIntent(sample).intent.salt, salt);
    assert.throws(() => encodeNewIntent({ ...sample, salt: null }), InvalidError);
    const drawn = [rest, { ...rest, salt: undefined }].map((each) => encodeNewIntent(each));
    for (const { intent, terms } of drawn) {
      assert.match(intent.salt, /^0x[0-9a-f]{32}0{32}$/);
      assert.deepEqual(terms, encodeTerms(intent));
    }
    assert.notEqual(drawn[0]!.intent.salt, drawn[1]!.intent.salt);
  });
});

describe("InvalidError", () => {
  const messageOf = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof InvalidError);
      return error.message;
    }
    assert.fail("nothing was refused");
  };

  test("the message contains every error with its path", () => {
    const { token, ...rest } = sample;
    const two = messageOf(() => parseIntent({ ...rest, amount: "0" }));
    assert.match(two, /^token: this field is required; amount: expected an amount of 1 or more/);
    assert.match(
      messageOf(() => parseAddress("0x12")),
      /^expected an address/,
    );
    assert.match(
      messageOf(() => parseAddress("0x12", { path: ["calls", 0, "target"] })),
      /^calls\[0\]\.target: expected an address/,
    );
    assert.match(
      messageOf(() => parseIntent(null)),
      /^expected an object, found null$/,
    );
  });
});

describe("parseIntent within a time limit", () => {
  const hostile: Record<string, unknown> = {
    "a function of ten million characters": withCall("f(".repeat(5_000_000)),
    "a function of parentheses": withCall(`f${"(".repeat(24_000)}`),
    "a function of arrays": withCall(`f(uint256${"[1]".repeat(8000)} a)`),
    "a function of spaces": withCall(`f(${" ".repeat(24_000)}`),
    "a short function of spaces": withCall(`f(${" ".repeat(190)}`),
    "a number of ten million digits": { ...sample, amount: "9".repeat(10_000_000) },
    "an address of ten million digits": { ...sample, token: `0x${"9".repeat(10_000_000)}` },
    "JSON of 70,000 brackets": withCall("f(uint256[] a)", "[".repeat(70_000)),
    "JSON of 70,000 lists": withCall("f(uint256[] a)", "[".repeat(70_000) + "]".repeat(70_000)),
    "JSON of 70,000 objects": withCall("f(uint256[] a)", '{"a":'.repeat(20_000)),
    "JSON of 70,000 elements": withCall("f(uint256[] a)", `[${'"",'.repeat(40_000)}""]`),
    "bytes of ten million digits": withCall("f(bytes a)", `0x${"0".repeat(10_000_000)}`),
    "768 equal names": withCall(`f(${Array(768).fill("bool a").join(", ")})`),
    "a key of ten million characters": { ...sample, ["x".repeat(10_000_000)]: 1 },
  };
  for (const [name, value] of Object.entries(hostile))
    test(name, () => {
      // Measures the processor time of this thread, so other load on the machine has no effect.
      const before = process.threadCpuUsage();
      assert.throws(() => parseIntent(value), InvalidError);
      const { user, system } = process.threadCpuUsage(before);
      assert.ok(user + system < 250_000, `${user + system} µs`);
    });
});

describe("parseIntent", () => {
  test("parseIntent reads each field only once", () => {
    let reads = 0;
    const value = {
      ...sample,
      get amount() {
        return reads++ === 0 ? "5" : "not a number";
      },
    };
    assert.equal(parseIntent(value).amount, "5");
    assert.equal(reads, 1);
  });

  test("encodeNewIntent reports at most 100 errors of `options.check`", () => {
    const issue = { path: ["calls", 0], code: "refused", message: "expected another call" };
    const check = () => Array(150).fill(issue);
    const issues = issuesOf(sample, undefined, (value) => encodeNewIntent(value, { check }));
    assert.deepEqual(issues, Array(100).fill(issue));
  });

  test("the result is correct even if a getter or `options.check` calls the library", () => {
    const inner = { ...sample, amount: "7" };
    const value = {
      ...sample,
      get calls() {
        makeRecord(inner);
        return [sampleCall];
      },
    };
    const check = () => {
      makeRecord(inner);
      return [];
    };
    assert.deepEqual(encodeNewIntent(value, { check }).terms, encodeTerms(sample));
  });

  test("parseIntent returns checksummed addresses and lowercase hex", () => {
    const spelled = {
      ...sample,
      token: usdc.toLowerCase(),
      recovery: `0x${sample.recovery.slice(2).toUpperCase()}`,
      salt: `0x${"AB".repeat(32)}`,
      calls: [
        {
          target: shop.toLowerCase(),
          function: "f(address[] a, bytes b, bytes2[] c, string d)",
          args: [`["${usdc.toLowerCase()}"]`, "0xABCD", '["0xABCD"]', "0xABCD"],
        },
      ],
    };
    const args = [`["${usdc}"]`, "0xabcd", '["0xabcd"]', "0xABCD"];
    const calls = [{ ...spelled.calls[0]!, target: shop, args }];
    const wanted = { ...sample, salt: `0x${"ab".repeat(32)}`, calls };
    assert.deepEqual(parseIntent(spelled), wanted);
  });

  test("parseIntent returns a deep copy", () => {
    const intent = parseIntent(sample);
    assert.deepEqual(intent, sample);
    assert.notEqual(intent.calls[0]?.args, sample.calls[0]?.args);
  });

  test("a wrong `keccak` option has no effect on later calls", () => {
    const keccak = () => new Uint8Array(32).fill(0xff);
    const token: Hex = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    const wrong = `0x${token.slice(2).toUpperCase()}`;
    assert.equal(parseAddress(token, { keccak }), wrong);
    assert.equal(parseAddress(token), "0xdAC17F958D2ee523a2206206994597C13D831ec7");
    assert.equal(parseAddress(token, { keccak }), wrong);
  });

  test("parseIntent retains less than 64 MiB of memory after 30,000 intents", () => {
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 30_000; i++) {
      const recovery = `0x${i.toString(16).padStart(40, "3")}`;
      parseIntent({
        ...sample,
        recovery,
        calls: [{ ...sampleCall, function: `f${i}()`, args: [] }],
      });
    }
    globalThis.gc?.();
    assert.ok(process.memoryUsage().heapUsed - before < 64 * 1024 * 1024);
  });
});
