import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeAbiParameters, encodeEventTopics } from "viem";
import { explainRevert } from "../../chain/simulation/revert.ts";
import { decodeOutcomes, parseReceipt, type Receipt } from "./receipt.ts";

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
  gasUsed: 1,
  paid: 1n,
  logs,
});

const sender: Hex = `0x${"0e".repeat(20)}`;
const sent = { sender, vaults: [`0x${"0c".repeat(20)}` as Hex, vault] };

const itemFailed = (caller: Hex, index: bigint) => ({
  address: factory,
  topics: encodeEventTopics({
    abi: paymentFactoryAbi,
    eventName: "ItemFailed",
    args: { caller, index },
  }) as Hex[],
  data: encodeAbiParameters([{ type: "bytes" }], ["0x"]),
});

describe("parseReceipt", () => {
  test("returns undefined for null, and throws `ChainUnavailable` for an invalid receipt", () => {
    const name = "ChainUnavailable";
    assert.throws(() => parseReceipt("0x"), { name, message: 'expected a receipt, found "0x"' });
    assert.throws(() => parseReceipt({ logs: 1 }), {
      name,
      message: "expected logs of a receipt, found 1",
    });
    assert.equal(parseReceipt(null), undefined);
  });
});

describe("decodeOutcomes", () => {
  test("ignores `ItemFailed` events that have another caller or an unknown index", () => {
    assert.deepEqual(decodeOutcomes(receipt(itemFailed(token, 1n)), factory, sent), []);
    assert.deepEqual(decodeOutcomes(receipt(itemFailed(sender, 2n)), factory, sent), []);
  });

  test("attributes an item's failure to the item's address", () => {
    const [outcome] = decodeOutcomes(receipt(itemFailed(sender, 1n)), factory, sent);
    assert.deepEqual(outcome, { kind: "failed", vault, reason: explainRevert("0x") });
  });

  test("ignores events of other contracts", () => {
    assert.deepEqual(decodeOutcomes(receipt(log(token)), factory, sent), []);
  });

  test("decodes the factory's events with their measured amounts", () => {
    const [outcome] = decodeOutcomes(receipt(log(factory)), factory, sent);
    assert.deepEqual(outcome, { kind: "executed", vault, token, amount: 100n, left: 40n });
  });
});
