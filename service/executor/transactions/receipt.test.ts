import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeAbiParameters, encodeEventTopics } from "viem";
import { outcomesOf, type Receipt } from "./receipt.ts";

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
