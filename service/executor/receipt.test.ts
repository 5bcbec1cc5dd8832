import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeAbiParameters, encodeErrorResult, encodeEventTopics } from "viem";
import { explainRevert, outcomesOf, type Receipt } from "./receipt.ts";

const factory: Hex = `0x${"fa".repeat(20)}`;
const vault: Hex = `0x${"0a".repeat(20)}`;
const token: Hex = `0x${"0b".repeat(20)}`;

const log = (address: Hex) => ({
  address,
  topics: encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "Executed",
    args: { vault, token },
  }) as Hex[],
  data: encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [100n, 40n]),
});
const receipt = (...logs: Receipt["logs"]): Receipt => ({
  transactionHash: "0x01",
  blockHash: "0x02",
  blockNumber: 3,
  succeeded: true,
  paid: 1n,
  logs,
});

describe("outcomesOf", () => {
  test("an event of another contract says nothing, however it looks", () => {
    assert.deepEqual(outcomesOf(receipt(log(token)), factory), []);
  });

  test("the factory's events, with measured amounts", () => {
    const [outcome] = outcomesOf(receipt(log(factory)), factory);
    assert.deepEqual(outcome, { kind: "executed", vault, token, amount: 100n, left: 40n });
  });
});

describe("explainRevert", () => {
  const reason = encodeErrorResult({
    abi: [{ type: "error", name: "Error", inputs: [{ type: "string", name: "text" }] }],
    errorName: "Error",
    args: ["shop\u001b[2J closed\u202e"],
  });

  test("a text that a contract chose cannot move a cursor or turn a line around", () => {
    assert.equal(explainRevert(reason), "shop?[2J closed?");
  });

  test("the factory's error with its values, the reason within the reason in words", () => {
    const data = encodeErrorResult({
      abi: paymentFactoryAbi,
      errorName: "CallFailed",
      args: [1n, token, reason],
    });
    assert.match(explainRevert(data), /^CallFailed\(1, 0x0B.*, shop\?\[2J closed\?\)$/i);
  });

  test("what nobody knows: its selector; nothing at all: said so", () => {
    assert.equal(explainRevert("0xdeadbeef01"), "reverted with 0xdeadbeef");
    assert.equal(explainRevert("0x"), "no reason given");
  });
});
