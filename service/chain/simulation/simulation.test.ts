import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, type Call, type Hex, payWithTolerance } from "executable-address";
import type { Simulation } from "executable-address/client";
import { periphery } from "executable-address-contracts";
import { deployOnce } from "executable-address-contracts/deploy";
import { zeroAddress } from "viem";
import { type Manner, NodeError, unhashed } from "../../testing/chain/node.ts";
import {
  type SimulatedWorld,
  shop,
  startSimulated,
  stranger,
  transfer,
} from "../../testing/chain/simulated.ts";

const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const unlimited = (2n ** 256n - 1n).toString();

let world: SimulatedWorld;
before(async () => {
  world = await startSimulated();
});
after(() => world?.stop());

/** Returns each change as "account token change", with the names that the test uses. */
const changesOf = (simulation: Simulation, names: Record<Hex, string>) =>
  simulation.changes
    .map(({ account, token, change }) => `${names[account] ?? account} ${names[token]} ${change}`)
    .sort();

describe("a simulation that succeeds", () => {
  const names = (record: AddressRecord, more: Record<Hex, string> = {}) => ({
    [record.address]: "vault",
    [shop]: "shop",
    [world.target]: "target",
    [record.intent.token]: "token",
    [zeroAddress]: "native",
    ...more,
  });

  test("reports balance changes, the newest block, and the used gas", async () => {
    const record = await world.paid();
    const simulation = await world.simulate(record);
    const { number, hash, timestamp } = await world.client.getBlock();
    assert.deepEqual(simulation.block, {
      number: Number(number),
      hash,
      timestamp: Number(timestamp),
    });
    assert.deepEqual(simulation.changes, [
      {
        account: record.address,
        roles: ["vault"],
        token: world.token,
        symbol: "DMO",
        decimals: 6,
        change: "-100",
      },
      {
        account: shop,
        roles: ["named"],
        token: world.token,
        symbol: "DMO",
        decimals: 6,
        change: "100",
      },
    ]);
    const { outcome, state, reason, failedCall, fundingAssumed, scope, unmeasured } = simulation;
    assert.deepEqual(
      { outcome, state, reason, failedCall, fundingAssumed, scope, unmeasured },
      {
        outcome: "succeeds",
        state: "funded",
        reason: null,
        failedCall: null,
        fundingAssumed: false,
        scope: "transfers",
        unmeasured: 0,
      },
    );
    const { gasUsed } = await world.execute(record);
    assert.ok(
      Math.abs(Number(gasUsed) - simulation.gasUsed!) < 2_000,
      `${gasUsed} ${simulation.gasUsed}`,
    );
  });

  for (const held of [0n, 40n]) {
    test(`assumes the requested balance of 100 if the address has only ${held}`, async () => {
      const record = await world.newRecord();
      if (held > 0n) await world.pay(record.address, held);
      const simulation = await world.simulate(record);
      assert.deepEqual([simulation.outcome, simulation.fundingAssumed], ["succeeds", true]);
      assert.deepEqual(changesOf(simulation, names(record)), [
        "shop token 100",
        "vault token -100",
      ]);
      assert.equal(await world.balanceOf(record.address), held);
    });
  }

  test("assumes the requested amount even if the calls also accept a smaller amount", async () => {
    await deployOnce(world.client, periphery.collector.bytecode);
    const collect = (recipient: Hex, least: bigint, most: bigint) =>
      payWithTolerance({ token: world.token, recipient, least, most }).calls;
    const calls = [...collect(shop, 80n, 90n), ...collect(stranger, 9n, 10n)];
    const record = await world.newRecord({ amount: "99", calls });
    await world.pay(record.address, 98n);
    const simulation = await world.simulate(record);
    assert.deepEqual([simulation.outcome, simulation.fundingAssumed], ["succeeds", true]);
    assert.deepEqual(changesOf(simulation, { ...names(record), [stranger]: "stranger" }), [
      "shop token 90",
      "stranger token 10",
      "vault token -100",
    ]);
  });

  test("uses the real balance if it exceeds the requested amount", async () => {
    const record = await world.paid();
    await world.pay(record.address, 11n);
    const simulation = await world.simulate(record);
    assert.equal(simulation.fundingAssumed, false);
    assert.deepEqual(changesOf(simulation, names(record)), ["shop token 100", "vault token -100"]);
  });

  test("reports the amount that a contract takes after an unlimited approval", async () => {
    const approve = (amount: string): Call => ({
      target: world.token,
      function: "approve(address spender, uint256 amount)",
      args: [world.target, amount],
    });
    const pay = world.onShop("pay(address token, uint256 amount)", world.token, "60");
    const record = await world.paid([approve(unlimited), pay]);
    const simulation = await world.simulate(record);
    assert.deepEqual(changesOf(simulation, names(record)), ["target token 60", "vault token -60"]);
    const roles = simulation.changes.find(({ account }) => account === world.target)?.roles;
    assert.deepEqual(roles, ["target", "named"]);
  });

  test("reports the received amount if the token takes a fee", async () => {
    const token = await world.deployOdd("FeeToken");
    const record = await world.paid([transfer(token)], { token });
    const simulation = await world.simulate(record);
    assert.deepEqual(changesOf(simulation, { ...names(record), [token]: "token" }), [
      "shop token 99",
      "token token 1",
      "vault token -100",
    ]);
    assert.ok(
      simulation.changes.every(({ symbol, decimals }) => symbol === null && decimals === null),
    );
  });

  test("reports measured balances even if a token logs transfers that never happened", async () => {
    const token = await world.deployOdd("BoastingToken");
    const record = await world.paid([transfer(token)], { token });
    const simulation = await world.simulate(record);
    assert.deepEqual(changesOf(simulation, { ...names(record), [stranger]: "stranger" }), [
      "shop token 100",
      "vault token -100",
    ]);
  });

  test("reports balance changes of the intent's accounts if the token emits no logs", async () => {
    const token = await world.deployOdd("SilentToken");
    const record = await world.paid([transfer(token)], { token });
    assert.deepEqual(changesOf(await world.simulate(record), names(record)), [
      "shop token 100",
      "vault token -100",
    ]);
  });

  test("reports no balance change for a call that returns very long data", async () => {
    const bomb = world.onShop("bomb(uint256 size, bool ok)", "100000", "true");
    const simulation = await world.simulate(await world.paid([bomb]));
    assert.deepEqual([simulation.outcome, simulation.changes], ["succeeds", []]);
  });

  test("reports native coin that a contract sends", async () => {
    // Bytecode that sends its whole balance to its caller: PUSH0 4 times, SELFBALANCE CALLER GAS
    // CALL.
    const giver = await world.withCode("0x5f5f5f5f47335af100");
    await world.client.setBalance({ address: giver, value: 7n });
    const record = await world.paid([{ ...world.onShop("visit()"), target: giver }]);
    assert.deepEqual(
      changesOf(await world.simulate(record), { ...names(record), [giver]: "giver" }),
      ["giver native -7", "vault native 7"],
    );
  });

  test("reports the number of unmeasured balances if there are too many to measure", async () => {
    // Bytecode: PUSH2 to, PUSH2 from, PUSH32 topic, PUSH0 PUSH0 LOG3.
    const log = (_: unknown, index: number) => {
      const account = (0x7000 + index).toString(16);
      return `61${account}61${account}7f${transferTopic}5f5fa3`;
    };
    const logs = Array.from({ length: 150 }, log).join("");
    const crowd = await world.withCode(`0x${logs}`);
    const record = await world.paid([
      transfer(world.token),
      { ...world.onShop("visit()"), target: crowd },
    ]);
    const simulation = await world.simulate(record);
    assert.deepEqual(changesOf(simulation, names(record)), ["shop token 100", "vault token -100"]);
    assert.equal(simulation.unmeasured, 150);
  });

  test("reports only the intent's accounts if the node lacks `eth_simulateV1`", async () => {
    const record = await world.paid();
    const old: Manner = async (method, params, ask) => {
      if (method === "eth_simulateV1") throw new NodeError(-32601, "the method does not exist");
      return ask(method, params);
    };
    await world.through(old, async (url) => {
      const simulation = await world.simulate(record, url);
      assert.deepEqual([simulation.scope, simulation.gasUsed], ["intent", null]);
      assert.deepEqual(changesOf(simulation, names(record)), [
        "shop token 100",
        "vault token -100",
      ]);
    });
  });

  test("works with a node that does not support blocks by hash", async () => {
    await world.through(unhashed, async (url) => {
      assert.equal((await world.simulate(await world.newRecord(), url)).outcome, "succeeds");
    });
  });
});
