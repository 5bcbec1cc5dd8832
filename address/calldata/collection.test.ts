import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  askedAmount,
  type Call,
  collectionOf,
  collectorAddress,
  type Hex,
  makeRecord,
  payWithTolerance,
} from "../index.ts";

const token: Hex = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const recipient: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const [least, most] = [24_750_000n, 25_000_000n];
const payment = { token, recipient, least, most };

describe("payWithTolerance", () => {
  const refused = (change: Partial<typeof payment>, path: string, message: string) =>
    assert.throws(() => payWithTolerance({ ...payment, ...change }), {
      name: "InvalidError",
      issues: [{ path: [path], code: "invalid_value", message }],
    });

  test("throws InvalidError if least is above most", () =>
    refused({ least: most + 1n }, "least", "expected 1 to 25000000 (most), found 25000001"));

  test("throws InvalidError if least is zero", () =>
    refused({ least: 0n }, "least", "expected 1 to 25000000 (most), found 0"));

  test("throws InvalidError if the recipient is the Collector, in any letter case", () => {
    const lower = collectorAddress.toLowerCase() as Hex;
    const message = `expected another contract than the Collector, found ${lower}`;
    refused({ recipient: lower }, "recipient", message);
  });

  test("returns the parts of an intent that is valid", () => {
    const parts = payWithTolerance(payment);
    assert.equal(parts.amount, "24750000");
    const { intent } = makeRecord({
      ...parts,
      ...{ expirationTimestamp: 2_000_000_000, recovery: recipient, chainId: 8453 },
      salt: `0x${"00".repeat(32)}`,
    });
    assert.deepEqual(intent.calls, parts.calls);
    assert.equal(parts.calls[0]!.args[1], "25000000", "the approval");
  });
});

describe("askedAmount", () => {
  const parts = payWithTolerance(payment);

  test("returns the intent's amount without a collection of its token", () => {
    assert.equal(askedAmount({ ...parts, calls: parts.calls.slice(0, 1) }), "24750000");
    assert.equal(askedAmount({ ...parts, token: recipient }), "24750000");
  });

  test("returns the intent's amount if the calls collect less", () =>
    assert.equal(askedAmount({ ...parts, amount: "26000000" }), "26000000"));

  test("returns the most that the calls collect", () =>
    assert.equal(askedAmount(parts), "25000000"));
});

describe("collectionOf", () => {
  const [approval, collect] = payWithTolerance(payment).calls as [Call, Call];

  test("returns undefined for another contract or function", () => {
    assert.equal(collectionOf(approval), undefined);
    assert.equal(collectionOf({ ...collect, target: token }), undefined);
    const other = collect.function.replace("collect", "collects");
    assert.equal(collectionOf({ ...collect, function: other }), undefined);
    const more = collect.function.replace(")", ", bool now)");
    assert.equal(collectionOf({ ...collect, function: more }), undefined);
  });

  test("returns what the call collects, regardless of its parameter names", () => {
    const lower = { token: token.toLowerCase(), recipient: recipient.toLowerCase() };
    const expected = { ...payment, ...lower };
    assert.deepEqual(collectionOf(collect), expected);
    const renamed = "collect(address $a, address b, uint256 c_1, uint256 d)";
    assert.deepEqual(collectionOf({ ...collect, function: renamed }), expected);
  });
});
