import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { InvalidError } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { sample } from "../test/samples.ts";
import { parseReference, saltFor, signatureFor, verifyReference } from "./reference.ts";

type Vectors = {
  salts: { key: string; reference: string; salt: string }[];
  signatures: { key: string; address: Hex; reference: string | null; signature: string }[];
  refused: string[];
};
const url = new URL("../../spec/references.json", import.meta.url);
const { salts, signatures, refused }: Vectors = JSON.parse(readFileSync(url, "utf8"));
const key = salts[0]!.key;
const again = { ...sample, salt: `0x${"9".repeat(64)}` as Hex };
const other = `svc_ref_${"7".repeat(64)}`;

describe("parseReference", () => {
  test("malformed_reference for what is empty, too long or unseen, and for no text", () => {
    for (const text of [...refused, 7, null, ["order-1"]])
      assert.throws(() => parseReference(text), InvalidError, JSON.stringify(text));
  });
});

describe("saltFor", () => {
  test("gives the salts of spec/references.json", () => {
    for (const { key, reference, salt } of salts) assert.equal(saltFor(reference, key), salt);
  });
  test("TypeError on a key of another spelling, which it does not repeat", () => {
    for (const wrong of ["", key.toUpperCase(), key.slice(0, -1), `svc_sk_${"0".repeat(64)}`])
      assert.throws(
        () => saltFor("order-1", wrong),
        (error: Error) => error instanceof TypeError && !error.message.includes(wrong || "\0"),
      );
  });
});

describe("signatureFor", () => {
  test("gives the signatures of spec/references.json, in any letter case of the address", () => {
    for (const { key, address, reference, signature } of signatures)
      assert.equal(signatureFor(address, key, reference ?? undefined), signature);
  });
  test("is another for another address, reference or key", () => {
    const [{ address }, { address: elsewhere }] = [makeRecord(sample), makeRecord(again)];
    const made = [
      signatureFor(address, key),
      signatureFor(address, key, "order-1"),
      signatureFor(elsewhere, key, "order-1"),
      signatureFor(address, other, "order-1"),
    ];
    assert.equal(new Set(made).size, made.length);
  });
  test("refuses what is no address, reference or key", () => {
    const { address } = makeRecord(sample);
    assert.throws(() => signatureFor("0x12", key), InvalidError);
    assert.throws(() => signatureFor(address, "svc_ref_0"), TypeError);
    for (const text of refused) assert.throws(() => signatureFor(address, key, text), InvalidError);
  });
});

describe("verifyReference", () => {
  const record = makeRecord({ ...sample, salt: saltFor("order-1", key) });
  test("reference_mismatch for another order, another key and a drawn salt", () => {
    for (const [made, reference, keys] of [
      [record, "order-2", key],
      [record, "order-1", other],
      [record, "order-1", []],
      [makeRecord(sample), "order-1", key],
    ] as const)
      assert.throws(() => verifyReference(made, reference, keys), /salt that this reference/);
  });
  test("refuses a record that does not prove itself, though its salt is right", () => {
    const forged = { ...record, intent: { ...record.intent, amount: "1" } };
    assert.throws(() => verifyReference(forged, "order-1", key), InvalidError);
  });
  test("gives the record, under the key or an old one", () => {
    assert.deepEqual(verifyReference(record, " order-1", key), record);
    assert.deepEqual(verifyReference(record, "order-1", [other, key]), record);
  });
});
