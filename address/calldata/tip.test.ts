import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Call, Hex } from "../index.ts";
import { tipAddress, tipOf } from "../index.ts";

const token: Hex = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const call = (text: string, target = tipAddress): Call => ({
  target,
  function: text,
  args: [token, "250000"],
});

describe("tipOf", () => {
  test("nothing for another contract, or another function of this one", () => {
    assert.equal(tipOf(call("tip(address token, uint256 amount)", token)), undefined);
    assert.equal(tipOf(call("tip(address token, uint128 amount)")), undefined);
    assert.equal(tipOf(call("tips(address token, uint256 amount)")), undefined);
    assert.equal(tipOf(call("tip(address token, uint256 amount, bool now)")), undefined);
  });

  test("token and amount of a tip, however its parameters are called", () => {
    const tip = { token: token.toLowerCase(), amount: 250_000n };
    assert.deepEqual(tipOf(call("tip(address token, uint256 amount)")), tip);
    assert.deepEqual(tipOf(call("tip(address $of, uint256 how_much)")), tip);
    const lower = tipAddress.toLowerCase() as Hex;
    assert.deepEqual(tipOf(call("tip(address token, uint256 amount)", lower)), tip);
  });
});
