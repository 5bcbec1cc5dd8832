// Uses random intents of all types to test that each intent has exactly one encoding. Compares the
// encoding with viem's. Also tests that the decoder rejects all non-canonical terms.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paymentFactoryAbi } from "executable-address-contracts";
import fc from "fast-check";
import {
  concatHex,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  keccak256,
  toFunctionSelector,
} from "viem";
import { isLong } from "../../scripts/long.ts";
import * as library from "../index.ts";
import {
  decodeTerms,
  encodeTerms,
  fromHex,
  type Intent,
  InvalidError,
  makeRecord,
  parseAddress,
  toHex,
} from "../index.ts";
import { type DrawnIntent, intents } from "../test/intents.ts";
import { sample, shop } from "../test/samples.ts";

/** The number of random inputs per test. Slow tests use fewer inputs. */
const numRuns = Number(process.env.FUZZ_RUNS ?? (isLong ? 1500 : 300));
const seed = 20260101;
const execute = paymentFactoryAbi.find(
  (item) => item.type === "function" && item.name === "execute",
);

describe("encodeTerms and decodeTerms", () => {
  test("decodeTerms throws `malformed_terms` if the encoding is not canonical", () => {
    const terms = encodeTerms(sample);
    const wordAt = (index: number) => 32 * index + 31;
    const cases: [string, Uint8Array, (string | number)[]][] = [
      ["no bytes", new Uint8Array(), []],
      ["a byte missing at the end", terms.slice(0, -1), ["calls", sample.calls.length - 1, "args"]],
      ["a byte too many", concatBytes(terms, new Uint8Array(1)), []],
      ["the offset of the intent", changed(terms, wordAt(0)), []],
      ["a bit above the token's 20 bytes", changed(terms, 32 + 11), ["token"]],
      ["the offset of the calls", changed(terms, wordAt(3)), []],
    ];
    for (const [name, bytes, path] of cases) {
      const refused = refusalOf(() => decodeTerms(bytes));
      assert.deepEqual([refused?.code, refused?.path], ["malformed_terms", path], name);
    }
  });

  test("decodeTerms throws `InvalidError` for random bytes", () => {
    const bytes = fc.uint8Array({ maxLength: 2048 });
    fc.assert(
      fc.property(bytes, (terms) => assert.throws(() => decodeTerms(terms), InvalidError)),
      { numRuns, seed },
    );
  });

  test("terms with changed bytes are invalid or encode another intent", () => {
    const change = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) });
    const changes = fc.array(change, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(intents, changes, ({ intent }, changes) => {
        const terms = encodeTerms(intent);
        for (const { at, by } of changes) terms[at % terms.length]! ^= by;
        expectStrict(terms);
      }),
      { numRuns, seed },
    );
  });

  test("terms with moved or repeated words are invalid or encode another intent", () => {
    const edit = fc.record({
      kind: fc.constantFrom("cut", "double", "swap", "append", "offset", "trim"),
      at: fc.nat(),
      to: fc.nat(),
    });
    fc.assert(
      fc.property(intents, edit, ({ intent }, edit) => {
        const terms = encodeTerms(intent);
        const edited = applyEdit(terms, edit.kind, edit.at, edit.to);
        if (Buffer.compare(terms, edited) !== 0) expectStrict(edited);
      }),
      { numRuns, seed },
    );
  });

  test("decodeTerms and encodeTerms refuse more than 24,576 bytes", () => {
    const withBytes = (count: number): Intent => ({
      ...sample,
      calls: [{ target: shop, function: "f(bytes a)", args: [`0x${"11".repeat(count)}`] }],
    });
    const most = 24_576 - encodeTerms(withBytes(0)).length;
    const terms = encodeTerms(withBytes(most));
    assert.equal(terms.length, 24_576);
    assert.deepEqual(decodeTerms(terms), withBytes(most));
    assert.throws(() => encodeTerms(withBytes(most + 1)), /at most 24576 bytes/);
    assert.throws(() => decodeTerms(new Uint8Array(24_608)), /at most 24576 bytes, found 24608/);
  });

  test("decodeTerms returns the intent that was encoded", () => {
    fc.assert(
      fc.property(intents, ({ intent }) => {
        assert.deepEqual(decodeTerms(encodeTerms(intent)), intent);
      }),
      { numRuns, seed },
    );
  });

  test("similar terms do not share a cached value", () => {
    const addressOf = (first: string) => parseAddress(`0x${first.repeat(37)}abc`);
    const spellings = ["a", "b"].flatMap((first) =>
      ["order", "refund"].map(
        (name): Intent => ({
          ...sample,
          token: addressOf(first),
          calls: [{ target: shop, function: `pay(uint256 ${name})`, args: ["77"] }],
        }),
      ),
    );
    for (const intent of [...spellings, ...spellings.toReversed(), ...spellings])
      assert.deepEqual(decodeTerms(encodeTerms(intent)), intent);
  });

  test("makeRecord computes the same terms and address as viem", () => {
    fc.assert(
      fc.property(intents, (drawn) => {
        const { terms, address } = makeRecord(drawn.intent);
        assert.equal(terms, viemTerms(drawn));
        const bytecode = concatHex([library.initCodePrefix, terms]);
        const salt = `0x${"0".repeat(64)}` as const;
        const from = library.factoryAddress;
        assert.equal(address, getContractAddress({ opcode: "CREATE2", from, salt, bytecode }));
      }),
      { numRuns, seed },
    );
  });

  test("changing any field changes the address", () => {
    fc.assert(
      fc.property(intents, intents, ({ intent }, { intent: other }) => {
        const { address } = makeRecord(intent);
        for (const field of Object.keys(intent) as (keyof library.Intent)[]) {
          if (JSON.stringify(intent[field]) === JSON.stringify(other[field])) continue;
          const changed = { ...intent, [field]: other[field] };
          if (changed.token === changed.recovery) continue;
          assert.notEqual(makeRecord(changed).address, address, field);
        }
      }),
      { numRuns: numRuns / 5, seed },
    );
  });
});

describe("encodeExecution", () => {
  test("encodeExecution returns the same calldata as viem", () => {
    fc.assert(
      fc.property(intents, (drawn) => {
        const calldata = library.encodeExecution(drawn.intent);
        const args = [viemIntent(drawn)] as never;
        const abi = paymentFactoryAbi;
        assert.equal(toHex(calldata), encodeFunctionData({ abi, functionName: "execute", args }));
      }),
      { numRuns: numRuns / 5, seed },
    );
  });
});

/** Decodes calldata and returns its intents. Throws if a call is invalid. */
const intentsOf = (calldata: Uint8Array): Intent[] =>
  library.decodeExecutions(calldata).map((call) => {
    if ("error" in call) throw call.error;
    return call.intent;
  });

describe("decodeExecutions", () => {
  const abi = paymentFactoryAbi;
  const executionOf = (drawn: DrawnIntent) =>
    encodeFunctionData({ abi, functionName: "execute", args: [viemIntent(drawn)] as never });
  const recoveryOf = (drawn: DrawnIntent, tokens: readonly string[]) =>
    encodeFunctionData({
      abi,
      functionName: "recover",
      args: [viemIntent(drawn), tokens] as never,
    });
  const batchOf = (items: readonly library.Hex[]): Uint8Array =>
    fromHex(encodeFunctionData({ abi, functionName: "batch", args: [items] }));
  const tokens = fc.array(fc.constantFrom(`0x${"00".repeat(20)}`, `0x${"a1".repeat(20)}`), {
    maxLength: 3,
  });
  const items = fc.oneof(
    fc.record({ drawn: intents }).map(({ drawn }) => ({ drawn, item: executionOf(drawn) })),
    fc
      .record({ drawn: intents, tokens })
      .map(({ drawn, tokens }) => ({ drawn, item: recoveryOf(drawn, tokens) })),
  );
  const batches = fc.array(items, { maxLength: 4 });
  const bytesOf = (drawn: readonly { item: library.Hex }[]) =>
    batchOf(drawn.map(({ item }) => item));

  test("decodeExecutions throws for a call to another function", () => {
    const refused = [
      new Uint8Array(),
      fromHex("0x095ea7b3"),
      batchOf(["0x095ea7b3"]),
      batchOf([toHex(batchOf([]))]),
    ];
    for (const calldata of refused)
      assert.throws(
        () => intentsOf(calldata),
        /expected calldata that begins with .*, found 0x[0-9a-f]{0,8}$/,
      );
  });

  test("decodeExecutions throws `InvalidError` for random arguments", () => {
    const selectors = fc.constantFrom(library.batchSelector, library.recoverSelector);
    const words = fc.array(
      fc.oneof(fc.constantFrom(0n, 32n, 64n, 1n << 53n, (1n << 256n) - 1n), fc.bigInt(0n, 512n)),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(selectors, words, fc.uint8Array({ maxLength: 40 }), (selector, words, rest) => {
        const text = words.map((word) => word.toString(16).padStart(64, "0")).join("");
        const calldata = fromHex(concatHex([selector, `0x${text}`, toHex(rest)]));
        if (toHex(calldata) === toHex(batchOf([]))) return;
        assert.throws(() => intentsOf(calldata), InvalidError);
      }),
      { numRuns, seed },
    );
  });

  test("if a byte of a batch changes, decodeExecutions rejects it or agrees with viem", () => {
    const change = fc.record({ at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) });
    fc.assert(
      fc.property(batches, change, (drawn, { at, by }) => {
        const calldata = bytesOf(drawn);
        const place = 4 + (at % (calldata.length - 4));
        calldata[place]! ^= by;
        let found: library.Intent[];
        try {
          found = intentsOf(calldata);
        } catch (error) {
          assert.ok(error instanceof InvalidError, String((error as Error).stack));
          return;
        }
        const { args } = decodeFunctionData({ abi, data: toHex(calldata) });
        const again = (args as [library.Hex[]])[0];
        assert.equal(toHex(batchOf(again)), toHex(calldata));
        again.forEach((item, index) => {
          assert.ok(item.includes(toHex(encodeTerms(found[index]!)).slice(2 + 64)));
        });
      }),
      { numRuns, seed },
    );
  });

  test("decodeExecutions throws `InvalidError` for a malformed layout", () => {
    const word = (value: number) => fromHex(`0x${value.toString(16).padStart(64, "0")}`);
    const [drawn] = fc.sample(intents, { numRuns: 1, seed });
    const spoilt = (calldata: Uint8Array, at: number, value: number) => {
      const copy = calldata.slice();
      copy.set(word(value), at);
      return copy;
    };
    const wordAt = (calldata: Uint8Array, at: number) =>
      Number(BigInt(toHex(calldata.slice(at, at + 32))));
    const batch = batchOf([executionOf(drawn!), executionOf(drawn!)]);
    const second = 4 + 32 * 3;
    const recovery = fromHex(recoveryOf(drawn!, [`0x${"a1".repeat(20)}`]));
    const end = wordAt(recovery, 4 + 32);
    const wrong = {
      overlap: spoilt(batch, second, 64),
      apart: spoilt(batch, second, wordAt(batch, second) + 32),
      "one fewer than there are": spoilt(batch, 4 + 32, 1),
      "one more than there are": spoilt(batch, 4 + 32, 3),
      "more than there can be": spoilt(batch, 4 + 32, 2 ** 48),
      cut: batch.subarray(0, -1),
      more: Uint8Array.of(...batch, 0),
      "the tokens before the intent": spoilt(recovery, 4 + 32, 32),
      "the tokens within the intent": spoilt(recovery, 4 + 32, end - 32),
      "the intent apart": spoilt(recovery, 4, 96),
      "a token fewer than there are": spoilt(recovery, 4 + end, 0),
      "a token of more than 20 bytes": spoilt(recovery, 4 + end + 20, 2 ** 40),
      "a cut recovery": recovery.subarray(0, -1),
      "more behind a recovery": Uint8Array.of(...recovery, 0),
    };
    for (const [title, bytes] of Object.entries(wrong))
      assert.throws(() => intentsOf(bytes), InvalidError, title);
  });

  test("decodeExecutions reports an error with its index in the batch", () => {
    const [first, second] = fc.sample(intents, { numRuns: 2, seed });
    const bad = { ...second!, intent: { ...second!.intent, amount: "0" } };
    const batch = batchOf([executionOf(first!), recoveryOf(bad, [])]);
    const isPlaced = (error: InvalidError) => error.issues[0]?.path.join(".") === "1.amount";
    assert.throws(() => intentsOf(batch), isPlaced);
  });

  test("decodeExecutions still decodes the other items if one is invalid", () => {
    const [first, second] = fc.sample(intents, { numRuns: 2, seed });
    const target = `0x${"a1".repeat(20)}`;
    const args = [viemIntent(second!), target, 5n, "0x1234"] as never;
    const rescue = encodeFunctionData({ abi, functionName: "rescue", args });
    assert.deepEqual(library.decodeExecutions(rescue), [
      { name: "rescue", intent: second!.intent },
    ]);
    const cut = recoveryOf(second!, []).slice(0, -2) as library.Hex;
    const items = [executionOf(first!), "0x1234", recoveryOf(second!, []), cut, rescue] as const;
    const [good, bad, recovery, ...worse] = library.decodeExecutions(batchOf(items));
    assert.deepEqual(good, { name: "execute", intent: first!.intent });
    assert.deepEqual(recovery, { name: "recover", intent: second!.intent });
    assert.ok(bad && "error" in bad && bad.error.issues[0]?.code === "not_an_execution");
    assert.deepEqual(bad.error.issues[0].path, [1]);
    const places = worse.map((call) => "error" in call && call.error.issues[0]?.path[0]);
    assert.deepEqual(places, [3, 4], "the factory takes no rescue in a batch");
  });

  test("decodeExecutions decodes calldata from viem", () => {
    fc.assert(
      fc.property(batches, (drawn) => {
        const wanted = drawn.map(({ drawn: { intent } }) => intent);
        assert.deepEqual(intentsOf(bytesOf(drawn)), wanted);
        for (const [index, { item }] of drawn.entries())
          assert.deepEqual(intentsOf(fromHex(item)), [wanted[index]]);
        for (const intent of wanted)
          assert.deepEqual(intentsOf(library.encodeExecution(intent)), [intent]);
      }),
      { numRuns: numRuns / 5, seed },
    );
  });
});

/**
 * Checks that the decoder either rejects the bytes or returns an intent with exactly this encoding.
 * Therefore no intent has two encodings.
 */
function expectStrict(terms: Uint8Array): void {
  let intent: library.Intent;
  try {
    intent = decodeTerms(terms);
  } catch (error) {
    assert.ok(error instanceof InvalidError, String((error as Error).stack));
    return;
  }
  assert.equal(toHex(encodeTerms(structuredClone(intent))), toHex(terms));
}

function applyEdit(terms: Uint8Array, kind: string, at: number, to: number): Uint8Array {
  const words: string[] = [];
  for (let i = 0; i < terms.length; i += 32) words.push(toHex(terms.slice(i, i + 32)).slice(2));
  const [a, b] = [at % words.length, to % words.length];
  if (kind === "cut") words.splice(a, 1);
  if (kind === "double") words.splice(a, 0, words[a]!);
  if (kind === "swap") [words[a], words[b]] = [words[b]!, words[a]!];
  if (kind === "append") words.push("0".repeat(64));
  if (kind === "offset") words[a] = (32 * b).toString(16).padStart(64, "0");
  if (kind === "trim") return terms.slice(0, at % terms.length);
  return fromHex(`0x${words.join("")}`);
}

function viemIntent({ intent, calls }: DrawnIntent): unknown {
  return {
    ...intent,
    amount: BigInt(intent.amount),
    expirationTimestamp: BigInt(intent.expirationTimestamp),
    chainId: BigInt(intent.chainId),
    calls: calls.map(({ target, name, parameters, values }) => {
      const signature = `${name}(${parameters.map(canonical).join(",")})`;
      const selector = toFunctionSelector({ type: "function", name, inputs: parameters } as never);
      assert.equal(selector, keccak256(Buffer.from(signature)).slice(0, 10));
      const names = parameters.map(namesOf).join(",");
      return { target, signature, names, args: encodeAbiParameters(parameters, values as never) };
    }),
  };
}

function viemTerms(drawn: DrawnIntent): library.Hex {
  assert.ok(execute?.type === "function");
  return encodeAbiParameters(execute.inputs, [viemIntent(drawn)] as never);
}

type Parameter = { type: string; name?: string | undefined; components?: readonly Parameter[] };

const canonical = ({ type, components }: Parameter): string =>
  components ? `(${components.map(canonical).join(",")})${type.slice("tuple".length)}` : type;

const namesOf = ({ name, components }: Parameter): string =>
  components ? `(${components.map(namesOf).join(",")})${name}` : name!;

const changed = (bytes: Uint8Array, at: number): Uint8Array =>
  bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

const concatBytes = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

function refusalOf(run: () => unknown) {
  try {
    run();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof InvalidError, `${error}`);
    return error.issues[0];
  }
}
