// spec/vectors.json holds the library, the contracts and the service to the same answers.
// `npm run vectors -w address` works terms and addresses out anew, which is right only when the
// contracts' snapshot of the factory's address or of PREFIX has moved.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import {
  decodeTerms,
  encodeTerms,
  factoryAddress,
  fromHex,
  type Hex,
  type Intent,
  InvalidError,
  makeRecord,
  parseIntent,
  toHex,
  verifyRecord,
} from "../index.ts";

type Vectors = {
  accepted: { name: string; intent: Intent; terms: Hex; address: Hex }[];
  refused: { name: string; intent: unknown; path: (string | number)[]; code: string }[];
};
const file = new URL("../../spec/vectors.json", import.meta.url);
const vectors: Vectors = JSON.parse(readFileSync(file, "utf8"));
if (process.env.UPDATE_VECTORS) update();

describe("spec/vectors.json", () => {
  test("refuses at least 120 intents and accepts at least 60, each by a name of its own", () => {
    assert.ok(vectors.refused.length >= 120);
    assert.ok(vectors.accepted.length >= 60);
    const names = [...vectors.refused, ...vectors.accepted].map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
  });

  for (const { name, intent, path, code } of vectors.refused)
    test(`refuses with ${code}: ${name}`, () => {
      const issues = issuesOf(() => parseIntent(intent));
      const found = issues.some((issue) => {
        return issue.code === code && JSON.stringify(issue.path) === JSON.stringify(path);
      });
      assert.ok(found, `wanted ${code} at ${path.join(".")}, found ${JSON.stringify(issues)}`);
      const strangers = issues.filter((issue) => issue.path.join(".") !== path.join("."));
      if (code !== "unknown_field") assert.deepEqual(strangers, [], "no other fault is claimed");
    });

  for (const { name, intent, terms, address } of vectors.accepted)
    test(`accepts, both ways: ${name}`, () => {
      assert.deepEqual(parseIntent(intent), intent);
      assert.equal(toHex(encodeTerms(intent)), terms);
      assert.deepEqual(decodeTerms(fromHex(terms)), intent);
      const record = { address, factory: factoryAddress, intent, terms };
      assert.deepEqual(makeRecord(intent), record);
      assert.deepEqual(verifyRecord(record, { factory: factoryAddress }), record);
    });
});

function issuesOf(run: () => unknown) {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof InvalidError, String(error));
    return error.issues;
  }
  assert.fail("nothing was refused");
}

/** Where an intent names the factory, it names the one of now. */
function update(): void {
  const named = (name: string) =>
    [...vectors.accepted, ...vectors.refused].find((vector) => vector.name === name)!;
  Object.assign(named("recovery is the factory").intent as Intent, {
    recovery: factoryAddress.toLowerCase(),
  });
  Object.assign((named("a call to the factory").intent as Intent).calls[0]!, {
    target: factoryAddress,
  });
  for (const vector of vectors.accepted) {
    const { terms, address } = makeRecord(vector.intent);
    Object.assign(vector, { terms, address });
  }
  const lines = (list: unknown[]) => list.map((item) => `    ${JSON.stringify(item)}`).join(",\n");
  const { accepted, refused } = vectors;
  const parts = [`"accepted": [\n${lines(accepted)}\n  ]`, `"refused": [\n${lines(refused)}\n  ]`];
  writeFileSync(file, `{\n  ${parts.join(",\n  ")}\n}\n`);
}
