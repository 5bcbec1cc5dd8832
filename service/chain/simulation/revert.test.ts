import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeErrorResult, pad, parseAbi } from "viem";
import { explainFailure, explainRevert } from "./revert.ts";

const target: Hex = "0x0B306BF915C4d645ff596e518fAf3F9669b97016";
const reason = encodeErrorResult({
  abi: [{ type: "error", name: "Error", inputs: [{ type: "string", name: "text" }] }],
  errorName: "Error",
  args: ["shop\u001b[2J closed\u202e"],
});
const callFailed = (answer: Hex) =>
  encodeErrorResult({
    abi: paymentFactoryAbi,
    errorName: "CallFailed",
    args: [1n, target, answer],
  });

describe("explainRevert", () => {
  test("replaces control characters in a contract's text", () => {
    assert.equal(explainRevert(reason), "shop?[2J closed?");
  });

  test("shows the arguments of the factory's error, including the revert reason", () => {
    const found = explainRevert(callFailed(reason));
    assert.match(found, /^CallFailed\(1, 0x0B.*, shop\?\[2J closed\?\)$/i);
  });

  test("shows a token's own error for an insufficient amount", () => {
    const data = encodeErrorResult({
      abi: parseAbi(["error ERC20InsufficientBalance(address a, uint256 b, uint256 c)"]),
      args: [target, 5n, 7n],
    });
    assert.equal(explainRevert(data), `ERC20InsufficientBalance(${target}, 5, 7)`);
  });

  test("shows the selector of an unknown error", () => {
    assert.equal(explainRevert("0xdeadbeef01"), "reverted with 0xdeadbeef");
    assert.equal(explainRevert("0x"), "no reason given");
  });
});

describe("explainFailure", () => {
  test("returns the index and the reason of the failing call", () => {
    assert.deepEqual(explainFailure(callFailed(reason)), { call: 1, reason: "shop?[2J closed?" });
    assert.deepEqual(explainFailure(callFailed("0x")), { call: 1, reason: "no reason given" });
    assert.deepEqual(explainFailure(callFailed(pad("0x00"))), {
      call: 1,
      reason: "it returned false",
    });
  });

  test("explains a call to an address without code", () => {
    const data = encodeErrorResult({
      abi: paymentFactoryAbi,
      errorName: "NoCode",
      args: [2n, target],
    });
    assert.deepEqual(explainFailure(data), {
      call: 2,
      reason: "there is no contract at this address",
    });
  });

  test("returns null as the index if the error names no call", () => {
    assert.deepEqual(explainFailure("0x"), { call: null, reason: "no reason given" });
    assert.deepEqual(explainFailure("0xdeadbeef"), {
      call: null,
      reason: "reverted with 0xdeadbeef",
    });
  });
});
