import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord } from "executable-address";
import { type AddressStatus, readStatus } from "executable-address/status";
import { zeroAddress } from "viem";
import { recovery, startWorld, type World } from "../../testing/chain/world.ts";
import { openChainRpc } from "../rpc/chain-rpc.ts";
import { openStatusReader, type StatusReader } from "./reader.ts";

let world: World;
let clock = 0;
let reader: StatusReader;

/** Asserts that both implementations return the same status, and returns this status. */
async function statusOf(record: AddressRecord): Promise<AddressStatus> {
  clock += 1000;
  const ours = await reader.read(record);
  const theirs = await readStatus(record, { rpc: world.rpcUrl });
  assert.deepEqual(ours, theirs);
  return ours;
}

const stateOf = async (record: AddressRecord) => (await statusOf(record)).state;

before(async () => {
  world = await startWorld();
  reader = openStatusReader({ ...world.chain, rpc: openChainRpc([world.rpcUrl], () => clock) });
});
after(() => world.stop());

describe("the state of an address", () => {
  test("is `unfunded` while an address is open and empty", async () => {
    const record = await world.newRecord();
    const block = await world.client.getBlock();
    assert.deepEqual(await statusOf(record), {
      address: record.address,
      state: "unfunded",
      chainId: 31_337,
      block: {
        number: Number(block.number),
        hash: block.hash,
        timestamp: Number(block.timestamp),
      },
      token: world.token,
      balance: "0",
      amount: "100",
      expirationTimestamp: record.intent.expirationTimestamp,
      recoverable: [],
      execution: null,
      recoveries: [],
    });
  });

  test("is `partially_funded` if the balance is below the requested amount", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 1n);
    assert.equal(await stateOf(record), "partially_funded");
    await world.pay(record.address, 98n);
    assert.equal(await stateOf(record), "partially_funded");
  });

  test("is `funded` if the address is open and has at least the amount", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    assert.equal(await stateOf(record), "funded");
    await world.pay(record.address, 1n);
    await world.payNative(record.address, 5n);
    const status = await statusOf(record);
    assert.equal(status.state, "funded");
    assert.equal(status.balance, "101");
    assert.deepEqual(status.recoverable, []);
  });

  test("is `executed` after an execution, and the status describes the execution", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 130n);
    const receipt = await world.execute(record);
    await world.payNative(record.address, 7n);
    const status = await statusOf(record);
    assert.equal(status.state, "executed");
    assert.deepEqual(status.execution, {
      transactionHash: receipt.transactionHash,
      blockNumber: Number(receipt.blockNumber),
      blockHash: receipt.blockHash,
      logIndex: receipt.logs.at(-1)!.logIndex,
      held: "130",
      left: "30",
    });
    assert.deepEqual(status.recoverable, [
      { token: world.token, amount: "30" },
      { token: zeroAddress, amount: "7" },
    ]);
  });

  test("remains `executed` after later recoveries, which are listed oldest first", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 130n);
    await world.execute(record);
    await world.payNative(record.address, 7n);
    const receipt = await world.recover(record, [world.token, zeroAddress]);
    await world.pay(record.address, 11n);
    await world.mineAt(record.intent.expirationTimestamp + 1);
    await world.recover(record, [world.token]);
    const status = await statusOf(record);
    assert.equal(status.state, "executed");
    assert.deepEqual(
      status.recoveries.map(({ token, amount }) => [token, amount]),
      [
        [world.token, "30"],
        [zeroAddress, "7"],
        [world.token, "11"],
      ],
    );
    assert.equal(status.recoveries[0]?.transactionHash, receipt.transactionHash);
    assert.deepEqual(status.recoverable, []);
  });

  test("changes to `expired` one second after `expirationTimestamp`", async () => {
    const empty = await world.newRecord();
    const paid = await world.newRecord();
    await world.pay(paid.address, 100n);
    await world.mineAt(empty.intent.expirationTimestamp);
    assert.equal(await stateOf(empty), "unfunded");
    assert.equal(await stateOf(paid), "funded");
    await world.mineAt(empty.intent.expirationTimestamp + 1);
    assert.equal(await stateOf(empty), "expired");
    const status = await statusOf(paid);
    assert.equal(status.state, "expired");
    assert.deepEqual(status.recoverable, [{ token: world.token, amount: "100" }]);
  });

  test("is `recovered` after a recovery, and the status contains the measured amount", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 60n);
    await world.mineAt(record.intent.expirationTimestamp + 1);
    await world.recover(record, [world.token]);
    const status = await statusOf(record);
    assert.equal(status.state, "recovered");
    assert.equal(status.execution, null);
    assert.equal(status.recoveries[0]?.amount, "60");
    assert.deepEqual(status.recoverable, []);
    await world.pay(record.address, 100n);
    const late = await statusOf(record);
    assert.equal(late.state, "recovered");
    assert.deepEqual(late.recoverable, [{ token: world.token, amount: "100" }]);
    const balance = await world.balanceOf(recovery);
    assert.ok(balance >= 60n);
  });

  test("is `recovered` even if the recovery moved no money", async () => {
    const record = await world.newRecord();
    await world.mineAt(record.intent.expirationTimestamp + 1);
    await world.recover(record, []);
    const status = await statusOf(record);
    assert.equal(status.state, "recovered");
    assert.deepEqual(status.recoveries, []);
  });

  test("does not depend on the balances of other tokens", async () => {
    const record = await world.newRecord();
    const other = await world.newToken();
    await world.pay(record.address, 500n, other);
    assert.equal(await stateOf(record), "unfunded");
    await world.mineAt(record.intent.expirationTimestamp + 1);
    await world.recover(record, [other]);
    const status = await statusOf(record);
    assert.deepEqual(
      status.recoveries.map(({ token, amount }) => [token, amount]),
      [[other, "500"]],
    );
  });
});

describe("400 simultaneous status reads", () => {
  test("each return the status of the requested address", async () => {
    const records = await Promise.all(Array.from({ length: 400 }, () => world.newRecord()));
    await world.pay(records[399]!.address, 100n);
    clock += 1000;
    const statuses = await Promise.all(records.map((record) => reader.read(record)));
    assert.deepEqual(
      statuses.map(({ address }) => address),
      records.map(({ address }) => address),
    );
    assert.deepEqual(
      statuses.map(({ state }) => state),
      [...Array(399).fill("unfunded"), "funded"],
    );
  });
});

describe("a status after a reorganization", () => {
  test("does not contain a removed execution", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    await world.mine(1);
    await world.execute(record);
    assert.equal(await stateOf(record), "executed");
    await world.reorg(1);
    assert.equal(await stateOf(record), "funded");
    await world.execute(record);
    const status = await statusOf(record);
    assert.equal(status.state, "executed");
    assert.equal(status.execution?.blockNumber, status.block.number);
  });

  test("does not contain cached events of removed blocks", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    await world.mine(1);
    await world.execute(record);
    await world.mine(200);
    assert.equal(await stateOf(record), "executed");
    await world.reorg(201);
    assert.equal(await stateOf(record), "funded");
    await world.mine(3);
    await world.execute(record);
    await world.mine(200);
    const status = await statusOf(record);
    assert.equal(status.execution?.blockNumber, status.block.number - 200);
  });

  test("contains the new block of an execution", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    const snapshot = await world.client.snapshot();
    await world.execute(record);
    const before = await statusOf(record);
    await world.client.revert({ id: snapshot });
    await world.mine(3);
    await world.execute(record);
    const after = await statusOf(record);
    assert.equal(after.execution!.blockNumber, before.execution!.blockNumber + 3);
    assert.notEqual(after.execution!.blockHash, before.execution!.blockHash);
  });
});
