import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { factoryAddress, type Hex, InvalidError, makeRecord, verifyRecord } from "./index.ts";
import { buyer, sample, sampleCall, shop } from "./test/samples.ts";

const record = makeRecord(sample);
const factory = factoryAddress;

function refusals(
  value: unknown,
  options = { factory } as { factory: Hex; address?: Hex },
): string[] {
  try {
    verifyRecord(value, options);
  } catch (error) {
    assert.ok(error instanceof InvalidError, String((error as Error).stack));
    return error.issues.map(({ path, code }) => `${path.join(".")} ${code}`);
  }
  assert.fail("the record was verified");
}

describe("verifyRecord", () => {
  test("verifyRecord refuses a value that is not a record", () => {
    for (const value of [null, [], "x", 1]) assert.deepEqual(refusals(value), [" wrong_type"]);
    const fields = ["address missing", "factory missing", "intent missing", "terms missing"];
    assert.deepEqual(refusals({}), fields);
    assert.deepEqual(refusals(Object.create(record)), fields);
  });

  test("verifyRecord refuses an intent with a changed field", () => {
    const changes: object[] = [
      { token: shop },
      { amount: "1000001" },
      { calls: [sampleCall, sampleCall] },
      { calls: [{ ...sampleCall, args: ["78", buyer] }] },
      { calls: [{ ...sampleCall, function: "pay(uint256 order, address seller)" }] },
      { expirationTimestamp: sample.expirationTimestamp + 1 },
      { recovery: shop },
      { salt: `0x${"12".repeat(32)}` },
      { chainId: 1 },
    ];
    for (const change of changes)
      assert.deepEqual(refusals({ ...record, intent: { ...sample, ...change } }), [
        "terms terms_mismatch",
        "address address_mismatch",
      ]);
  });

  test("verifyRecord refuses an intent and terms that match each other but not the address", () => {
    const { intent, terms } = makeRecord({ ...sample, recovery: shop });
    assert.deepEqual(refusals({ ...record, intent, terms }), ["address address_mismatch"]);
  });

  test("verifyRecord refuses the record of another address", () => {
    const other = makeRecord({ ...sample, recovery: shop });
    const options = { factory, address: record.address };
    assert.deepEqual(refusals(other, options), ["address address_mismatch"]);
  });

  test("verifyRecord refuses a record for another factory", () => {
    const theirs = makeRecord(sample, { factory: shop });
    assert.deepEqual(refusals(theirs), ["factory factory_mismatch", "address address_mismatch"]);
  });

  test("verifyRecord refuses terms that do not match the intent", () => {
    assert.deepEqual(refusals({ ...record, terms: "0x" }), ["terms terms_mismatch"]);
    assert.deepEqual(refusals({ ...record, terms: 1 }), ["terms wrong_type"]);
  });

  test("a `terms_mismatch` error quotes the terms, starting at the first difference", () => {
    const digits = record.terms.slice(130);
    const wanted = digits.slice(0, 64);
    assert.notEqual(digits[0], "f");
    for (const [terms, found, at] of [
      [`${record.terms.slice(0, 130)}f${digits.slice(1)}`, `"f${wanted.slice(1)}"`, 131],
      [record.terms.slice(0, 130), '""', 131],
      [`${record.terms.slice(0, 130)}\u202e${digits}`, "other text", 131],
      ["0x", '""', 3],
    ] as const) {
      const right = record.terms.slice(at - 1, at + 63);
      const message = `terms: expected "${right}", found ${found} at character ${at}`;
      assert.throws(() => verifyRecord({ ...record, terms }, { factory }), { message });
    }
    const longer = `${record.terms}00`;
    const end = `found "00" at character ${record.terms.length + 1}`;
    const message = `terms: expected "", ${end}`;
    assert.throws(() => verifyRecord({ ...record, terms: longer }, { factory }), { message });
  });

  test("verifyRecord reports each error in the intent with its path", () => {
    const intent = { ...sample, amount: "01", tip: 1 };
    assert.deepEqual(refusals({ ...record, intent }), [
      "intent.tip unknown_field",
      "intent.amount not_canonical",
    ]);
  });

  test("verifyRecord refuses an invalid option", () => {
    assert.deepEqual(refusals(record, { factory: "0x" }), ["options.factory malformed_address"]);
  });
});

describe("verifyRecord", () => {
  test("verifyRecord removes unknown fields and normalizes letter case", () => {
    const lower = (text: string) => text.toLowerCase();
    const spelled = {
      ...record,
      address: lower(record.address),
      factory: lower(factory),
      terms: `0x${record.terms.slice(2).toUpperCase()}`,
      note: "from a mirror",
    };
    assert.deepEqual(
      verifyRecord(spelled, { factory, address: lower(record.address) as Hex }),
      record,
    );
    assert.deepEqual(verifyRecord(record, { factory: lower(factory) as Hex }), record);
  });

  test("verifyRecord accepts another factory if the caller trusts it", () => {
    const theirs = makeRecord(sample, { factory: shop });
    assert.deepEqual(verifyRecord(theirs, { factory: shop }), theirs);
  });
});
