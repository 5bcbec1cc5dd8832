import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { InvalidError } from "../errors.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { buyer, sample, sampleCall, shop, usdc } from "../test/samples.ts";
import {
  parseReference,
  saltFor,
  saltForOrder,
  signatureFor,
  verifyReference,
} from "./reference.ts";

type Vectors = {
  salts: { key: string; reference: string; salt: string }[];
  orders: { key: string; reference: string; intent: Omit<Intent, "salt">; salt: string }[];
  signatures: { key: string; address: Hex; reference: string | null; signature: string }[];
  refused: string[];
};
const url = new URL("../../spec/references.json", import.meta.url);
const { salts, orders, signatures, refused }: Vectors = JSON.parse(readFileSync(url, "utf8"));
const key = salts[0]!.key;
const again = { ...sample, salt: `0x${"9".repeat(64)}` as Hex };
const other = `svc_ref_${"7".repeat(64)}`;

describe("parseReference", () => {
  test("parseReference throws `InvalidError` for an empty or too long reference", () => {
    for (const text of [...refused, 7, null, ["order-1"]])
      assert.throws(() => parseReference(text), InvalidError, JSON.stringify(text));
  });
});

describe("saltFor", () => {
  test("saltFor returns the salts of spec/references.json", () => {
    for (const { key, reference, salt } of salts) assert.equal(saltFor(reference, key), salt);
  });
  test("saltFor throws `InvalidError` for a malformed reference", () => {
    const wanted = "expected one reference of 1 to 128 printable characters";
    for (const [reference, found] of [
      ["", "0 characters"],
      ["a".repeat(129), "129 characters"],
      [undefined, "nothing"],
    ] as const)
      assert.throws(() => saltFor(reference as string, key), {
        name: "InvalidError",
        message: `reference: ${wanted}, found ${found}`,
      });
  });
  test("saltFor does not show an invalid key in its error", () => {
    assert.throws(() => saltFor("order-1", "svc_ref_0"), {
      name: "TypeError",
      message: "expected a reference key: svc_ref_ and 64 lowercase hex digits, found 9 characters",
    });
    for (const wrong of ["", key.toUpperCase(), key.slice(0, -1), `svc_sk_${"0".repeat(64)}`])
      assert.throws(
        () => saltFor("order-1", wrong),
        (error: Error) => error instanceof TypeError && !error.message.includes(wrong || "\0"),
      );
  });
});

describe("signatureFor", () => {
  test("signatureFor returns the signatures of spec/references.json", () => {
    for (const { key, address, reference, signature } of signatures)
      assert.equal(signatureFor(address, key, reference ?? undefined), signature);
  });
  test("signatureFor returns a different signature for each address, reference, and key", () => {
    const [{ address }, { address: elsewhere }] = [makeRecord(sample), makeRecord(again)];
    const made = [
      signatureFor(address, key),
      signatureFor(address, key, "order-1"),
      signatureFor(elsewhere, key, "order-1"),
      signatureFor(address, other, "order-1"),
    ];
    assert.equal(new Set(made).size, made.length);
  });
  test("signatureFor throws for an invalid address, reference, or key", () => {
    const { address } = makeRecord(sample);
    assert.throws(() => signatureFor("0x12", key), InvalidError);
    assert.throws(() => signatureFor(address, "svc_ref_0"), TypeError);
    for (const text of refused) assert.throws(() => signatureFor(address, key, text), InvalidError);
  });
});

describe("saltForOrder", () => {
  test("saltForOrder returns the salts of spec/references.json", () => {
    for (const { key, reference, intent, salt } of orders)
      assert.equal(saltForOrder(reference, intent, key), salt);
  });
  test("saltForOrder returns a different salt for each reference, key, and intent", () => {
    const changes: Partial<Intent>[] = [
      { token: shop },
      { amount: "1" },
      { calls: [sampleCall, sampleCall] },
      { calls: [{ ...sampleCall, args: ["78", buyer] }] },
      { expirationTimestamp: sample.expirationTimestamp + 1 },
      { recovery: usdc.replace("A0b8", "A0b9").toLowerCase() as Hex },
      { chainId: 1 },
    ];
    const salts = [
      saltForOrder("order-1", sample, key),
      saltForOrder("order-2", sample, key),
      saltForOrder("order-1", sample, other),
      saltFor("order-1", key),
      ...changes.map((change) => saltForOrder("order-1", { ...sample, ...change }, key)),
    ];
    assert.equal(new Set(salts).size, 4 + changes.length);
    assert.equal(saltForOrder("order-1", again, key), salts[0], "whatever salt is given");
  });
  test("saltForOrder throws `InvalidError` for a malformed intent", () => {
    assert.throws(() => saltForOrder("order-1", { ...sample, amount: "01" }, key), InvalidError);
  });
});

describe("verifyReference", () => {
  const ofOrder = (reference: string, intent = sample) =>
    makeRecord({ ...intent, salt: saltForOrder(reference, intent, key) });
  const record = ofOrder("order-1");
  const loose = makeRecord({ ...sample, salt: saltFor("order-1", key) });
  const refusedAs = (code: string) => (error: unknown) =>
    error instanceof InvalidError && error.issues[0]!.code === code;

  test("verifyReference throws `reference_mismatch` for a wrong reference or key", () => {
    for (const [made, reference, keys] of [
      [record, "order-2", key],
      [record, "order-1", other],
      [record, "order-1", []],
      [makeRecord(sample), "order-1", key],
      [loose, "order-2", key],
    ] as const)
      assert.throws(
        () => verifyReference(made, reference, keys, { accepts: () => true }),
        refusedAs("reference_mismatch"),
      );
  });
  test("verifyReference throws `reference_mismatch` for a changed intent", () => {
    const cheap = makeRecord({ ...record.intent, amount: "1" });
    assert.throws(() => verifyReference(cheap, "order-1", key), refusedAs("reference_mismatch"));
  });
  test("verifyReference throws `reference_only` if the salt proves only the reference", () => {
    assert.throws(() => verifyReference(loose, "order-1", key), refusedAs("reference_only"));
  });
  test("verifyReference throws `order_mismatch` if `accepts` returns false", () => {
    const accepts = ({ amount }: { amount: string }) => amount === "another";
    assert.throws(
      () => verifyReference(loose, "order-1", key, { accepts }),
      refusedAs("order_mismatch"),
    );
  });
  test("verifyReference throws `TypeError` for an unknown option", () => {
    const options = { accept: () => false };
    assert.throws(() => verifyReference(loose, "order-1", key, options as object), {
      name: "TypeError",
      message: "accept: unknown option, expected one of factory, accepts",
    });
  });
  test("verifyReference throws if the record does not match its address", () => {
    const forged = { ...record, intent: { ...record.intent, amount: "1" } };
    assert.throws(() => verifyReference(forged, "order-1", key), InvalidError);
  });
  test("verifyReference accepts a salt made with any of the given keys", () => {
    assert.deepEqual(verifyReference(record, " order-1", key), record);
    assert.deepEqual(verifyReference(record, "order-1", [other, key]), record);
    const accepts = ({ amount }: { amount: string }) => amount === sample.amount;
    assert.deepEqual(verifyReference(loose, "order-1", key, { accepts }), loose);
  });
});
