import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { decodeFunctionData, encodeFunctionData } from "viem";
import {
  batchCalldata,
  executeCalldata,
  nativeCoin,
  recoverCalldata,
  termsOfBatch,
} from "./calldata.ts";

const address = (digit: string): Hex => `0x${digit.repeat(40)}`;

const termsOf = (calls: number): Hex =>
  makeRecord({
    token: address("1"),
    amount: "5",
    calls: Array.from({ length: calls }, () => ({
      target: address("2"),
      function: "pay(uint256 order, string note)",
      args: ["7", "thank you"],
    })),
    expirationTimestamp: 2_000_000_000,
    recovery: address("3"),
    salt: `0x${"04".repeat(32)}`,
    chainId: 1,
  }).terms;

/** What viem makes of the same arguments, decoded from ours and encoded again. */
const again = (data: Hex) =>
  encodeFunctionData({
    abi: paymentFactoryAbi,
    ...(decodeFunctionData({ abi: paymentFactoryAbi, data }) as object),
  } as never);

describe("calldata, against viem's encoder", () => {
  test("execute", () => {
    const data = executeCalldata(termsOf(2));
    assert.equal(again(data), data);
  });

  test("batch of executions and recoveries of different sizes, and back to their terms", () => {
    const terms = [termsOf(1), termsOf(3), termsOf(2)];
    const data = batchCalldata([
      executeCalldata(terms[0]!),
      recoverCalldata(terms[1]!, [address("5"), nativeCoin]),
      executeCalldata(terms[2]!),
    ]);
    assert.equal(again(data), data);
    assert.deepEqual(termsOfBatch(data), terms);
    assert.deepEqual(termsOfBatch(executeCalldata(terms[0]!)), []);
  });

  test("recover of several tokens, the native coin among them", () => {
    const data = recoverCalldata(termsOf(2), [address("5"), nativeCoin]);
    assert.equal(again(data), data);
  });
});
