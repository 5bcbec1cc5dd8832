import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { approvalOf, collectorAddress, type Hex, unlimitedFrom } from "../index.ts";

const token: Hex = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
const other: Hex = "0x00000000000000000000000000000000000c0ffe";
const target: Hex = "0x1111111111111111111111111111111111111111";

const call = (text: string, ...args: string[]) => ({ target, function: text, args });
const approve = (amount: bigint, spender: Hex = other) =>
  approvalOf(call("approve(address spender, uint256 amount)", spender, `${amount}`));
const permit = (amount: bigint) => {
  const text = "approve(address token, address spender, uint160 amount, uint48 expiration)";
  return approvalOf(call(text, token, other, `${amount}`, "1"));
};

describe("approvalOf", () => {
  test("returns undefined for other functions", () => {
    for (const text of [
      "transfer(address to, uint256 amount)",
      "approve(address spender, uint128 amount)",
      "approve(address spender, uint256 amount, bool now)",
      "setApprovalForAll(address operator)",
    ])
      assert.equal(approvalOf(call(text, other, "1", "1")), undefined, text);
  });

  test("returns the allowance regardless of the parameter names", () => {
    const given = { token: target, spender: other, amount: 5n, amountAt: 1 };
    const limits = { isUnlimited: false, isUsable: true };
    const renamed = call("approve(address receipt, uint256 $order_1)", other, "5");
    assert.deepEqual(approvalOf(renamed), { kind: "sets", ...given, ...limits });
    const more = call("increaseAllowance(address spender, uint256 amount)", other, "5");
    assert.deepEqual(approvalOf(more), { kind: "adds", ...given, ...limits });
  });

  test("returns the token and the spender of a Permit2 approval", () => {
    const given = { token, spender: other, amount: 5n, amountAt: 2 };
    const limits = { isUnlimited: false, isUsable: true };
    assert.deepEqual(permit(5n), { kind: "permit2", ...given, ...limits });
  });

  test("returns 2^256 - 1 if setApprovalForAll grants access, and 0 if it revokes access", () => {
    const text = "setApprovalForAll(address operator, bool approved)";
    const given = {
      kind: "collection",
      token: target,
      spender: other,
      amountAt: 1,
      isUsable: true,
    };
    assert.deepEqual(approvalOf(call(text, other, "true")), {
      ...given,
      ...{ amount: 2n ** 256n - 1n, isUnlimited: true },
    });
    assert.deepEqual(approvalOf(call(text, other, "false")), {
      ...given,
      ...{ amount: 0n, isUnlimited: false },
    });
  });

  test("`isUnlimited` is true if the amount is at least 2^255 (2^159 for Permit2)", () => {
    assert.equal(approve(unlimitedFrom - 1n)?.isUnlimited, false);
    assert.equal(approve(unlimitedFrom)?.isUnlimited, true);
    assert.equal(permit(2n ** 159n - 1n)?.isUnlimited, false);
    assert.equal(permit(2n ** 159n)?.isUnlimited, true);
  });

  test("`isUsable` is false if the spender is the Collector contract", () => {
    assert.equal(approve(unlimitedFrom, collectorAddress)?.isUsable, false);
  });
});
