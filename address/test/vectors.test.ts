// Tests the library with spec/vectors.json. The test contracts/test/Vectors.t.sol checks the
// factory with the accepted vectors. `npm run vectors -w address` recomputes terms and addresses.
// Run that command only if the factory's address or PREFIX has changed in the contracts' snapshot.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
  decodeTerms,
  encodeNewIntent,
  encodeTerms,
  factoryAddress,
  findCautions,
  fromHex,
  type Hex,
  type Intent,
  InvalidError,
  makeRecord,
  parseIntent,
  toHex,
  verifyRecord,
} from "../index.ts";

type Valid = { name: string; intent: Intent; terms: Hex; address: Hex };
type Fault = { path: (string | number)[]; code: string };
type Vectors = {
  accepted: Valid[];
  refused: ({ name: string; intent: unknown } & Fault)[];
  refusedWhenNew: (Valid & Fault)[];
  refusedTerms: ({ name: string; terms: Hex } & Fault)[];
};
const file = new URL("../../spec/vectors.json", import.meta.url);
const vectors: Vectors = JSON.parse(readFileSync(file, "utf8"));
if (process.env.UPDATE_VECTORS) update();

describe("spec/vectors.json", () => {
  test("spec/vectors.json contains enough test vectors of each kind", () => {
    assert.ok(vectors.refused.length >= 240);
    assert.ok(vectors.refusedTerms.length >= 60);
    assert.ok(vectors.refusedWhenNew.length >= 10);
    assert.ok(vectors.accepted.length >= 80);
    const names = Object.values(vectors).flatMap((list) => list.map(({ name }) => name));
    assert.equal(new Set(names).size, names.length);
  });

  for (const { name, intent, path, code } of vectors.refused)
    test(`parseIntent throws ${code} (${name})`, () => {
      assert.deepEqual(
        faultsOf(() => parseIntent(intent)),
        [{ path, code }],
      );
    });

  for (const { name, terms, path, code } of vectors.refusedTerms)
    test(`decodeTerms throws ${code} (${name})`, () => {
      assert.deepEqual(
        faultsOf(() => decodeTerms(fromHex(terms))),
        [{ path, code }],
      );
    });

  for (const { path, code, ...valid } of vectors.refusedWhenNew)
    test(`encodeNewIntent throws ${code} (${valid.name})`, () => {
      assert.deepEqual(
        faultsOf(() => encodeNewIntent(valid.intent)),
        [{ path, code }],
      );
      expectValid(valid);
    });

  for (const valid of vectors.accepted)
    test(`the library accepts a valid intent (${valid.name})`, () => {
      assert.deepEqual(findCautions(valid.intent), []);
      expectValid(valid);
    });
});

function expectValid({ intent, terms, address }: Valid): void {
  assert.deepEqual(parseIntent(intent), intent);
  assert.equal(toHex(encodeTerms(intent)), terms);
  assert.deepEqual(decodeTerms(fromHex(terms)), intent);
  const record = { address, factory: factoryAddress, intent, terms };
  assert.deepEqual(makeRecord(intent), record);
  assert.deepEqual(verifyRecord(record, { factory: factoryAddress }), record);
}

function faultsOf(run: () => unknown): Fault[] {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof InvalidError, String(error));
    return error.issues.map(({ path, code }) => ({ path, code }));
  }
  assert.fail("nothing was refused");
}

/**
 * Writes the file again for the current contracts. Replaces the factory's address in the vectors,
 * and recomputes all valid terms and addresses.
 */
function update(): void {
  const named = <T extends { name: string }>(list: T[], name: string): T =>
    list.find((vector) => vector.name === name)!;
  Object.assign(named(vectors.refused, "recovery is the factory").intent as Intent, {
    recovery: factoryAddress.toLowerCase(),
  });
  const refused = named(vectors.refusedTerms, "terms: recovery: the factory");
  const [start, end] = [2 + 2 * 172, 2 + 2 * 192];
  const digits = factoryAddress.slice(2).toLowerCase();
  refused.terms = `${refused.terms.slice(0, start)}${digits}${refused.terms.slice(end)}` as Hex;
  Object.assign(named(vectors.accepted, "a call to the factory").intent.calls[0]!, {
    target: factoryAddress,
  });
  for (const vector of [...vectors.accepted, ...vectors.refusedWhenNew]) {
    const { terms, address } = makeRecord(vector.intent);
    Object.assign(vector, { terms, address });
  }
  const lines = (list: unknown[]) => list.map((item) => `    ${JSON.stringify(item)}`).join(",\n");
  const parts = Object.entries(vectors).map(([kind, list]) => `"${kind}": [\n${lines(list)}\n  ]`);
  writeFileSync(file, `{\n  ${parts.join(",\n  ")}\n}\n`);
}
