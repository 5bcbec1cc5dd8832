// Targets that go on where their inner work ran out of gas. Estimators look for the least limit at
// which nothing reverts: it has to be one at which the work is done.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type AddressRecord,
  encodeCall,
  encodeExecution,
  type Hex,
  makeRecord,
  toHex,
} from "executable-address";
import { factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { decodeErrorResult, numberToHex, parseAbi } from "viem";
import { deployOdd } from "../../../testing/chain/odd-contracts.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../../testing/executor/executor.ts";

const { world, store } = await prepare({ tickMs: 50 });
const { client, token } = world;
const amount = 1000n;
const inner = parseAbi([
  "function worker() view returns (address)",
  "function done() view returns (uint256)",
]);

type Target = { name: string; address: Hex; worker: Hex; record: AddressRecord };

const functions = {
  TryCatch: "pay(address token, uint256 amount)",
  Multicall: "tryAggregate(address token, uint256 amount, address[] targets)",
  Bridge: "deliver(address token, uint256 amount)",
  Hooked: "deposit(address token, uint256 amount)",
  Aggregator: "swap(address token, uint256 amount)",
};
const targets: Target[] = [];
for (const [name, called] of Object.entries(functions)) targets.push(await bring(name, called));
const records = targets.map(({ record }) => record);

// An account without code, as a vault is.
const own = client.account.address;
const payments = [...records.map(({ address }) => address), own];
await world.pay(payments.map((to) => ({ to, amount: to === own ? 5n * amount : amount })));

describe("targets that go on where their inner work failed", () => {
  for (const target of targets) {
    test(`${target.name}: the factory refuses the least limit it is content with`, async () => {
      const gas = await leastContent(target);
      // The control: by itself it takes the payment with so much gas, and does no work.
      for (const call of target.record.intent.calls) {
        assert.equal(await send(call.target, toHex(encodeCall(call)), gas), "success");
      }
      assert.equal(await world.balanceOf(target.address), amount);
      assert.equal(await doneBy(target), 0n, "it is not starved");

      assert.equal(await send(factoryAddress, executionOf(target), gas), "reverted");
      assert.equal(await world.balanceOf(target.address), amount);
      assert.equal(await world.balanceOf(target.record.address), amount);
    });
  }

  test("5 of 5 are executed with their work done, by estimated limits", async (t) => {
    await saveRecords(store, records);
    const core = startCore(store, world.chains());
    t.after(core.stop);
    await until("all are executed", async () =>
      (await fatesOf(world, records)).every(({ executed }) => executed === 1),
    );
    for (const target of targets) {
      assert.equal(await doneBy(target), 40n, `the work of ${target.name}`);
      assert.equal(await world.balanceOf(target.address), 2n * amount, target.name);
      assert.equal(await world.balanceOf(target.record.address), 0n, target.name);
    }
    const failed = core.events.filter(({ kind }) => kind === "attempt_failed");
    assert.deepEqual(failed, [], "none in vain");
  });
});

/** The target `name`, and an intent that pays it. */
async function bring(name: string, called: string): Promise<Target> {
  const address = await deployOdd(world, name, "Tolerants");
  const worker = await client.readContract({ address, abi: inner, functionName: "worker" });
  const { intent } = await world.newRecord({ amount });
  const approve = { target: token, function: "approve(address spender, uint256 amount)" };
  const more = called.includes("[]") ? [JSON.stringify([worker])] : [];
  const calls = [
    { ...approve, args: [address, String(amount)] },
    { target: address, function: called, args: [token, String(amount), ...more] },
  ];
  return { name, address, worker, record: makeRecord({ ...intent, calls }) };
}

const doneBy = ({ worker }: Target) =>
  client.readContract({ address: worker, abi: inner, functionName: "done" });

const executionOf = ({ record }: Target) => toHex(encodeExecution(record.intent));

/**
 * The least limit, to 10,000 gas, that all calls succeed with: what estimators would find if the
 * factory did not look at the gas that is left.
 */
async function leastContent(target: Target): Promise<bigint> {
  for (let gas = 100_000n; gas < 2_000_000n; gas += 10_000n) {
    const data = executionOf(target);
    const call = { from: own, to: factoryAddress, data, gas: numberToHex(gas) };
    const [answer] = await world.ask([{ method: "eth_call", params: [call, "latest"] }]);
    assert.ok(answer?.error, `${target.name} is executed with ${gas} gas and was never refused`);
    const { data: reason = "0x" } = answer.error as { data?: Hex };
    if (reason === "0x") continue;
    const { errorName, args } = decodeErrorResult({ abi: paymentFactoryAbi, data: reason });
    if (errorName === "TooLittleGas" && args[1] === target.address) return gas;
  }
  throw new Error(`${target.name} is never content`);
}

async function send(to: Hex, data: Hex, gas: bigint) {
  const hash = await client.sendTransaction({ to, data, gas });
  const { status } = await client.waitForTransactionReceipt({ hash });
  return status;
}
