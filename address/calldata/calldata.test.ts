import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paymentFactoryAbi } from "executable-address-contracts";
import { decodeFunctionData, encodeFunctionData } from "viem";
import { type Bytes, toHex } from "../abi/hex.ts";
import type { Hex } from "../intent/intent.ts";
import { makeRecord } from "../record.ts";
import { batchCalldata, executeCalldata, recoverCalldata } from "./calldata.ts";
import { decodeExecutions } from "./execution.ts";

const address = (digit: string): Hex => `0x${digit.repeat(40)}`;

const nativeCoin: Hex = `0x${"00".repeat(20)}`;

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

/** Decodes calldata with viem and encodes the arguments again. */
const again = (data: Bytes) =>
  encodeFunctionData({
    abi: paymentFactoryAbi,
    ...(decodeFunctionData({ abi: paymentFactoryAbi, data: toHex(data) }) as object),
  } as never);

describe("calldata", () => {
  test("an `InvalidError` for malformed hex contains the path of the malformed value", () => {
    const bad = "0xzz" as Hex;
    const refusedAt = (...path: (string | number)[]) => ({ issues: [{ path }] });
    const issueOf = (make: () => unknown) => {
      try {
        make();
      } catch (error) {
        const [{ path }] = (error as { issues: [{ path: unknown }] }).issues;
        return { issues: [{ path }] };
      }
      return undefined;
    };
    assert.deepEqual(
      issueOf(() => executeCalldata(bad)),
      refusedAt("terms"),
    );
    assert.deepEqual(
      issueOf(() => recoverCalldata("0x", [bad])),
      refusedAt("tokens", 0),
    );
    assert.deepEqual(
      issueOf(() => batchCalldata(["0x", bad])),
      refusedAt("items", 1),
    );
  });
});

describe("calldata", () => {
  test("executeCalldata returns the same bytes as viem", () => {
    const data = executeCalldata(termsOf(2));
    assert.equal(again(data), toHex(data));
  });

  test("decoding a batch returns the terms of every item", () => {
    const terms = [termsOf(1), termsOf(3), termsOf(2)];
    const data = batchCalldata([
      executeCalldata(terms[0]!),
      recoverCalldata(terms[1]!, [address("5"), nativeCoin]),
      executeCalldata(terms[2]!),
    ]);
    assert.equal(again(data), toHex(data));
    const found = decodeExecutions(data).map((item) => {
      assert.ok("intent" in item);
      return makeRecord(item.intent).terms;
    });
    assert.deepEqual(found, terms);
  });

  test("recoverCalldata returns the same bytes as viem", () => {
    const data = recoverCalldata(termsOf(2), [address("5"), nativeCoin]);
    assert.equal(again(data), toHex(data));
  });
});
