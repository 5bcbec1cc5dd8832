// Tests calls that use the block or the gas price to detect a simulation. In the executor's
// simulation, a call reads the same values as in a transaction. Hostile calls therefore fail in the
// simulation and cost nothing.

import assert from "node:assert/strict";
import { afterEach, describe, type TestContext, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { parseEther } from "viem";
import { isHardhat } from "../../../contracts/testing/local-node.ts";
import { startCore } from "../../../service/testing/executor/executor.ts";
import { startProxy } from "../../../service/testing/executor/rpc-proxy.ts";
import { attacker, fatesOf, prepareAttack, until } from "./world.ts";

const attack = await prepareAttack();
const { world, store, fundedInBlock, jobOf } = attack;
/** The address of executorKey. */
const executor: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const setMoney = (value: bigint) => world.client.setBalance({ address: executor, value });
afterEach(() => setMoney(parseEther("100")));

const opcodes = { gasPrice: "3a", number: "43", timestamp: "42", baseFee: "48" };
const comparisons = { above: "10", below: "11" };

/**
 * Returns code that compares the result of `opcode` with `value`. The code reverts if the result is
 * higher (`above`) or lower (`below`), depending on `comparison`.
 */
const refusesWhere = (
  opcode: keyof typeof opcodes,
  comparison: keyof typeof comparisons,
  value: number | bigint,
): Hex => {
  const word = value.toString(16).padStart(64, "0");
  return `0x${opcodes[opcode]}7f${word}${comparisons[comparison]}602757005b5f5ffd`;
};

const goTo = (target: Hex) => ({ calls: [{ target, function: "go()", args: [] }] });

/** Returns whether the executor sent a transaction in its first attempt. */
async function isSent(context: TestContext, record: AddressRecord, rpcUrls?: string[]) {
  const running = startCore(store, world.chains(rpcUrls));
  context.after(running.stop);
  const wasSent = () => running.events.some(({ kind }) => kind === "sent");
  await until("it was tried", async () => {
    const job = await jobOf(record.address);
    return wasSent() || (job?.failures ?? 0) > 0;
  });
  await running.stop();
  await world.mine();
  return wasSent();
}

/**
 * hardhat does not support the simulation's block and balance overrides. Only the controls run on
 * hardhat.
 */
const skip = isHardhat && "hardhat does not support block and balance overrides";

describe("hostile calls that succeed only in the newest block", () => {
  for (const [opcode, comparison, field] of [
    ["number", "above", "number"],
    ["timestamp", "above", "timestamp"],
    ["baseFee", "below", "baseFeePerGas"],
  ] as const) {
    test(`are not sent if they depend on the block's ${field}`, {
      skip,
    }, async (context) => {
      const target = await attack.contract("0x00");
      const [record] = await fundedInBlock(1, attacker, goTo(target));
      const newest = (await world.client.getBlock())[field]!;
      const bytecode = refusesWhere(opcode, comparison, newest);
      await world.client.setCode({ address: target, bytecode });
      assert.equal(await isSent(context, record!), false);
    });
  }

  test("control: the calls are sent if only the newest block is simulated", async (context) => {
    const proxy = await startProxy(world.rpcUrl, ({ id, method, params }, answer) => {
      if (method !== "eth_estimateGas" || params.length <= 2) return answer;
      const error = { code: -32602, message: "too many arguments, want at most 2" };
      return { id, jsonrpc: "2.0", error };
    });
    context.after(proxy.stop);
    const target = await attack.contract("0x00");
    const [record] = await fundedInBlock(1, attacker, goTo(target));
    const { number } = await world.client.getBlock();
    const bytecode = refusesWhere("number", "above", number!);
    await world.client.setCode({ address: target, bytecode });
    assert.equal(await isSent(context, record!, [proxy.url]), true);
  });
});

describe("calls that succeed only at gas price 0", () => {
  const fickle = refusesWhere("gasPrice", "above", 0n);

  test("the executor does not send the calls", { skip }, async (context) => {
    const { baseFeePerGas } = await world.client.getBlock();
    await setMoney(1_200_000n * 2n * (2n * baseFeePerGas! + 10n ** 9n));
    const target = await attack.contract(fickle);
    const [record] = await fundedInBlock(1, attacker, goTo(target));
    assert.equal(await isSent(context, record!), false);
  });

  test("a recovery omits native coin that its recipient accepts only at gas price 0", {
    skip,
  }, async (context) => {
    const recovery = await attack.contract(fickle);
    const [record] = await fundedInBlock(1, attacker, { chainId: 10, recovery });
    await world.client.sendTransaction({
      to: record!.address,
      value: parseEther("1"),
      gas: 50_000n,
    });
    await world.mine();
    world.startTicking(100);
    context.after(world.stopTicking);
    const running = startCore(store, world.chains());
    context.after(running.stop);
    await until("the token went back", async () => {
      const [fate] = await fatesOf(world, [record!]);
      return fate!.recovered > 0n;
    });
    await until("the coin was tried", async () => (await jobOf(record!.address))?.failures === 1);
    assert.equal((await jobOf(record!.address))?.recovery_failures, 0);
    await running.stop();
  });
});
