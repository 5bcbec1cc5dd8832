import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { periphery } from "executable-address-contracts";
import { type Abi, encodeFunctionData } from "viem";
import {
  type Call,
  collectionOf,
  collectorAddress,
  encodeCall,
  type Hex,
  makeRecord,
  payWithTolerance,
  requestedAmount,
  tipAddress,
  tipOf,
  toHex,
} from "../index.ts";
import { sample } from "../test/samples.ts";
import {
  requireBalance,
  requireClosed,
  requireExecuted,
  requireGas,
  requirementOf,
} from "./periphery.ts";

const one: Hex = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
const other: Hex = "0x00000000000000000000000000000000000c0ffe";

const record = { address: one, intent: { ...makeRecord(sample).intent, chainId: 1 } };

for (const build of [requireExecuted, requireClosed]) {
  test(`${build.name} throws if the record is not for the given chain`, () => {
    assert.throws(() => build(record, 8453), {
      name: "InvalidError",
      message: /expected a record of chain 8453, found one of chain 1/,
    });
  });
}

describe("requirementOf", () => {
  test("requirementOf returns undefined for a call that states no requirement", () => {
    const call = requireExecuted(record, 1);
    assert.equal(requirementOf({ ...call, target: one }), undefined);
    assert.equal(requirementOf({ ...call, target: periphery.guards.address }), undefined);
    for (const text of ["requireExecuted(bytes32 vault)", "requireGas(uint256 gas)", "execute()"]) {
      assert.equal(requirementOf({ ...call, function: text }), undefined, text);
    }
  });

  test("requirementOf returns the arguments regardless of the parameter names", () => {
    assert.deepEqual(requirementOf(requireExecuted(record, 1)), { of: "executed", vault: one });
    assert.deepEqual(requirementOf(requireClosed(record, 1)), { of: "closed", vault: one });
    assert.deepEqual(requirementOf(requireGas(7n)), { of: "gas", gas: 7n });
    const wanted = { of: "balance", token: one, holder: other, min: 5n };
    const call = requireBalance(one, other, 5n);
    assert.deepEqual(requirementOf(call), wanted);
    const renamed = "requireBalance(address $of, address a_b, uint256 c)";
    assert.deepEqual(requirementOf({ ...call, function: renamed }), wanted);
  });
});

test("requireExecuted and similar functions encode the same calldata as viem", () => {
  const { conditions, guards } = periphery;
  const all: [Call, { address: Hex; abi: Abi }, string, unknown[]][] = [
    [requireExecuted(record, 1), conditions, "requireExecuted", [one]],
    [requireClosed(record, 1), conditions, "requireClosed", [one]],
    [requireGas(7n), guards, "requireGas", [7n]],
    [requireBalance(one, other, 5n), guards, "requireBalance", [one, other, 5n]],
  ];
  for (const [call, { address, abi }, functionName, args] of all) {
    assert.equal(call.target, address);
    const wanted = encodeFunctionData({ abi, functionName, args });
    assert.equal(toHex(encodeCall(call)), wanted);
  }
});

const token: Hex = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const call = (text: string, target = tipAddress): Call => ({
  target,
  function: text,
  args: [token, "250000"],
});

describe("tipOf", () => {
  test("tipOf returns undefined for a call that pays no tip", () => {
    assert.equal(tipOf(call("tip(address token, uint256 amount)", token)), undefined);
    assert.equal(tipOf(call("tip(address token, uint128 amount)")), undefined);
    assert.equal(tipOf(call("tips(address token, uint256 amount)")), undefined);
    assert.equal(tipOf(call("tip(address token, uint256 amount, bool now)")), undefined);
  });

  test("tipOf returns the token and the amount regardless of the parameter names", () => {
    const tip = { token: token.toLowerCase(), amount: 250_000n };
    assert.deepEqual(tipOf(call("tip(address token, uint256 amount)")), tip);
    assert.deepEqual(tipOf(call("tip(address $of, uint256 how_much)")), tip);
    const lower = tipAddress.toLowerCase() as Hex;
    assert.deepEqual(tipOf(call("tip(address token, uint256 amount)", lower)), tip);
  });
});

const recipient: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const [least, most] = [24_750_000n, 25_000_000n];
const payment = { token, recipient, least, most };

describe("payWithTolerance", () => {
  const codes: Record<string, string> = { least: "out_of_range", recipient: "reserved_address" };
  const refused = (change: Partial<typeof payment>, path: string, message: string) =>
    assert.throws(() => payWithTolerance({ ...payment, ...change }), {
      name: "InvalidError",
      issues: [{ path: [path], code: codes[path], message }],
    });

  test("payWithTolerance throws `InvalidError` if `least` is greater than `most`", () =>
    refused({ least: most + 1n }, "least", "expected 1 to 25000000 (most), found 25000001"));

  test("payWithTolerance throws `InvalidError` if `least` is zero", () =>
    refused({ least: 0n }, "least", "expected 1 to 25000000 (most), found 0"));

  test("payWithTolerance throws `InvalidError` if the recipient is the Collector", () => {
    const lower = collectorAddress.toLowerCase() as Hex;
    const message = `expected an address other than the Collector's, found ${lower}`;
    refused({ recipient: lower }, "recipient", message);
  });

  test("makeRecord accepts the fields that payWithTolerance returns", () => {
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

describe("requestedAmount", () => {
  const parts = payWithTolerance(payment);

  test("requestedAmount is the intent's amount if no call collects the intent's token", () => {
    assert.equal(requestedAmount({ ...parts, calls: parts.calls.slice(0, 1) }), "24750000");
    assert.equal(requestedAmount({ ...parts, token: recipient }), "24750000");
  });

  test("requestedAmount is the intent's amount if the calls collect less", () =>
    assert.equal(requestedAmount({ ...parts, amount: "26000000" }), "26000000"));

  test("requestedAmount is the call's maximum if the intent's amount is lower", () =>
    assert.equal(requestedAmount(parts), "25000000"));

  test("requestedAmount adds up all calls that collect the intent's token", () => {
    const fee = payWithTolerance({ token, recipient: token, least: 10n, most: 12n });
    const other = payWithTolerance({ ...payment, token: recipient });
    const intent = {
      ...{ token, amount: "24750010" },
      calls: [...parts.calls, ...fee.calls, ...other.calls],
    };
    assert.equal(requestedAmount(intent), "25000012");
  });

  test("requestedAmount is the intent's amount if a call can collect an unlimited amount", () => {
    for (const all of [2n ** 256n - 1n, 2n ** 255n]) {
      const { calls } = payWithTolerance({ ...payment, most: all });
      assert.equal(requestedAmount({ ...parts, calls }), "24750000");
      assert.equal(requestedAmount({ ...parts, calls: [...parts.calls, ...calls] }), "24750000");
    }
  });
});

describe("collectionOf", () => {
  const [approval, collect] = payWithTolerance(payment).calls as [Call, Call];

  test("collectionOf returns undefined for a call that is not the Collector's `collect`", () => {
    assert.equal(collectionOf(approval), undefined);
    assert.equal(collectionOf({ ...collect, target: token }), undefined);
    const other = collect.function.replace("collect", "collects");
    assert.equal(collectionOf({ ...collect, function: other }), undefined);
    const more = collect.function.replace(")", ", bool now)");
    assert.equal(collectionOf({ ...collect, function: more }), undefined);
  });

  test("collectionOf returns the arguments regardless of the parameter names", () => {
    const lower = { token: token.toLowerCase(), recipient: recipient.toLowerCase() };
    const expected = { ...payment, ...lower };
    assert.deepEqual(collectionOf(collect), expected);
    const renamed = "collect(address $a, address b, uint256 c_1, uint256 d)";
    assert.deepEqual(collectionOf({ ...collect, function: renamed }), expected);
  });
});
