import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { en, sayWith } from "../words/languages.ts";
import { readSimulation, sayAccount, sayChange } from "./simulation.ts";

const say = sayWith(en);
const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const target: Hex = "0x1111111111111111111111111111111111111111";
const recovery: Hex = "0x2222222222222222222222222222222222222222";
const zero: Hex = `0x${"0".repeat(40)}`;
const usdc = { symbol: "USDC", address: token, decimals: 6 };
const record = makeRecord({
  token,
  amount: "25000000",
  calls: [{ target, function: "visit()", args: [] }],
  expirationTimestamp: 1_900_000_000,
  recovery,
  salt: `0x${"00".repeat(32)}`,
  chainId: 1,
});
const change = { account: target, roles: [], token, symbol: null, decimals: null, change: "-1" };
const simulation = {
  address: record.address,
  state: "funded",
  outcome: "succeeds",
  block: { number: 7, hash: "0x00", timestamp: 1 },
  reason: null,
  failedCall: null,
  fundingAssumed: false,
  scope: "transfers",
  unmeasured: 0,
  changes: [change],
};

describe("a simulation as the server tells it", () => {
  test("is dropped when it is not what it should be, instead of breaking the page", () => {
    const wrong: unknown[] = [
      null,
      {},
      { ...simulation, address: target },
      { ...simulation, outcome: "wins" },
      { ...simulation, block: null },
      { ...simulation, reason: {} },
      { ...simulation, failedCall: "1" },
      { ...simulation, unmeasured: -1 },
      { ...simulation, changes: {} },
      { ...simulation, changes: Array(101).fill(change) },
      { ...simulation, changes: [{ ...change, account: "0x12" }] },
      { ...simulation, changes: [{ ...change, token: null }] },
      { ...simulation, changes: [{ ...change, change: "0" }] },
      { ...simulation, changes: [{ ...change, change: "+1" }] },
      { ...simulation, changes: [null] },
    ];
    for (const value of wrong) {
      assert.equal(readSimulation(JSON.stringify(value), record.address), undefined);
    }
    assert.equal(readSimulation("<html>", record.address), undefined);
  });

  test("is taken when whole, whatever the letter case of its address", () => {
    const lower = { ...simulation, address: record.address.toLowerCase() };
    for (const value of [simulation, lower]) {
      assert.equal(readSimulation(JSON.stringify(value), record.address)?.block.number, 7);
    }
  });
});

describe("a change of a balance, in words", () => {
  test("in units of a listed token, in native coin, else in base units; with its sign", () => {
    assert.equal(sayChange("-25000000", token, usdc, say), "−25 USDC");
    assert.equal(sayChange("1500000", token, usdc, say), "+1.5 USDC");
    assert.equal(sayChange("1000000000000000", zero, undefined, say), "+0.001 native coin");
    assert.equal(sayChange("-25000000", token, undefined, say), "−25,000,000 base units");
  });

  test("accounts are named by the record itself", () => {
    assert.equal(sayAccount(record.address, record, {}, say), "this very address");
    assert.equal(sayAccount(recovery, record, {}, say), "the recovery address");
    assert.equal(sayAccount(target, record, {}, say), "the contract of call 1");
    assert.equal(sayAccount(zero, record, {}, say), undefined);
  });
});
