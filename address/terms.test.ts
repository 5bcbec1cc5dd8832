// The bijection, and that nothing but it is accepted: random intents of all types, beside viem.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paymentFactoryAbi } from "executable-address-contracts";
import fc from "fast-check";
import {
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  keccak256,
  toFunctionSelector,
} from "viem";
import * as library from "./index.ts";
import { decodeTerms, encodeTerms, fromHex, InvalidError, makeRecord, toHex } from "./index.ts";
import { type DrawnIntent, intents } from "./intents-for-tests.ts";

const numRuns = Number(process.env.FUZZ_RUNS ?? 1500);
const seed = 20260101;
const execute = paymentFactoryAbi.find(
  (item) => item.type === "function" && item.name === "execute",
);

describe("encodeTerms and decodeTerms", () => {
  test("InvalidError, never another error, for any bytes that are no terms", () => {
    const bytes = fc.uint8Array({ maxLength: 2048 });
    fc.assert(
      fc.property(bytes, (terms) => assert.throws(() => decodeTerms(terms), InvalidError)),
      { numRuns, seed },
    );
  });

  test("InvalidError for terms with bytes changed, or else an intent with just these terms", () => {
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

  test("InvalidError for terms with words cut, doubled, swapped or added", () => {
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

  test("every intent comes back from its terms as it was", () => {
    fc.assert(
      fc.property(intents, ({ intent }) => {
        assert.deepEqual(decodeTerms(encodeTerms(intent)), intent);
      }),
      { numRuns, seed },
    );
  });

  test("terms, selectors and addresses are viem's", () => {
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
  test("not_an_execution for calldata of another function", () => {
    assert.throws(() => library.decodeExecution(fromHex("0x095ea7b3")), /expected calldata/);
    assert.throws(() => library.decodeExecution(new Uint8Array()), /expected calldata/);
  });

  test("is viem's calldata of execute(intent), and comes back", () => {
    fc.assert(
      fc.property(intents, (drawn) => {
        const calldata = library.encodeExecution(drawn.intent);
        const args = [viemIntent(drawn)] as never;
        const abi = paymentFactoryAbi;
        assert.equal(toHex(calldata), encodeFunctionData({ abi, functionName: "execute", args }));
        assert.deepEqual(library.decodeExecution(calldata), drawn.intent);
      }),
      { numRuns: numRuns / 5, seed },
    );
  });
});

/** Refused, or the terms of the intent that comes out: never a second form of one. */
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
