// Tests an executor whose balance is too low for gas. Waiting addresses cause almost no requests to
// the operator's node. The executor still executes each address whose gas it can pay.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, type TestContext, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { startCore } from "../../../service/testing/executor/executor.ts";
import { startProxy } from "../../../service/testing/executor/rpc-proxy.ts";
import { attacker, count, fatesOf, prepareAttack, until } from "./world.ts";

const { world, store, fundedInBlock, jobOf } = await prepareAttack();
/** The address of executorKey. */
const executor: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const plenty = 10n ** 22n;
const setMoney = (value: bigint) => world.client.setBalance({ address: executor, value });
/**
 * The fixed base fee. Without it, empty blocks would lower the base fee until the executor can pay.
 */
const baseFeePerGas = 10n ** 9n;
/**
 * Returns the balance that the executor needs for a transaction: twice the transaction's maximum
 * cost. The maximum fee per gas is twice the base fee plus 2 gwei.
 */
const moneyFor = (gas: bigint) => 2n * gas * (2n * baseFeePerGas + 2n * 10n ** 9n);

let proxy: Awaited<ReturnType<typeof startProxy>>;
const asked = new Map<string, number>();
const timesAsked = (method: string) => asked.get(method) ?? 0;
before(async () => {
  proxy = await startProxy(world.rpcUrl, ({ method }, answer) => {
    asked.set(method, timesAsked(method) + 1);
    return answer;
  });
});
after(() => proxy.stop());
afterEach(() => setMoney(plenty));

/** The number of milliseconds by which the executor's clock has been advanced. */
let aheadMs = 0;
/** Advances both clocks by 15 s, after which the executor checks its balance again. */
const passTime = async () => {
  aheadMs += 15_000;
  await world.client.increaseTime({ seconds: 15 });
  await world.client.setNextBlockBaseFeePerGas({ baseFeePerGas });
  await world.mine();
};
const untilLater = (what: string, isDone: () => Promise<boolean>) =>
  until(what, async () => {
    await passTime();
    return isDone();
  });

const start = (context: TestContext) => {
  const running = startCore(store, world.chains([proxy.url]), (core) => ({
    ...core,
    clock: () => core.clock() + aheadMs,
  }));
  context.after(running.stop);
  return running;
};

const areWaiting = async (records: readonly AddressRecord[]) => {
  const jobs = await Promise.all(records.map(({ address }) => jobOf(address)));
  return jobs.every((job) => job?.reason === "executor_out_of_gas_money");
};
const areExecuted = async (records: readonly AddressRecord[]) =>
  (await fatesOf(world, records)).every(({ executed }) => executed === 1);

describe("an executor without enough money for gas", () => {
  test("estimates the gas of each address once and then waits for money", async (context) => {
    await setMoney(1n);
    const { events, stop } = start(context);
    const timesOf = (wanted: string) => events.filter(({ kind }) => kind === wanted).length;
    const stops = () => timesOf("stopped_for_balance");
    const records = await fundedInBlock(count(40, 300), attacker);
    await until("all wait", () => areWaiting(records));
    // The pass that postpones the addresses also requests new records. The test must not count
    // these requests, so the test waits until the next pass has ended.
    const passes = timesOf("pass");
    await until("that pass has ended", async () => timesOf("pass") > passes + 1);
    asked.clear();
    for (let time = 0; time < 10; time++) {
      const earlier = stops();
      await passTime();
      await until("it has read the balance", async () => stops() > earlier);
    }
    assert.equal(timesAsked("eth_estimateGas") + timesAsked("eth_call"), 0);
    // Every 15 s, the executor requests the balance. Once a minute, it also requests the balance
    // and the nonce together.
    assert.ok(timesAsked("eth_getBalance") <= 15, `${timesAsked("eth_getBalance")}`);
    context.diagnostic(`in 150 s: ${JSON.stringify(Object.fromEntries(asked))}`);

    const later = await fundedInBlock(2, attacker);
    await until("those that came later wait too", () => areWaiting(later));
    assert.equal(timesAsked("eth_estimateGas"), later.length);

    await setMoney(plenty);
    await untilLater("all are executed", () => areExecuted([...records, ...later]));
    await stop();
  });

  test("sends smaller transactions if it cannot pay for a large one", async (context) => {
    const records = await fundedInBlock(10, attacker);
    await passTime();
    await setMoney(moneyFor(400_000n));
    const { events, stop } = start(context);
    await untilLater("they are executed", () => areExecuted(records));
    await stop();
    const sent = events.filter(({ kind }) => kind === "sent").length;
    assert.ok(sent >= 3, `${sent} transactions`);
  });

  test("executes a cheap address while an expensive address waits", async (context) => {
    const call = {
      target: world.token,
      function: "transfer(address to, uint256 amount)",
      args: [executor, "1"],
    };
    const [dear] = await fundedInBlock(1, attacker, {
      calls: Array.from({ length: 32 }, () => call),
    });
    await passTime();
    await setMoney(moneyFor(250_000n));
    const { stop } = start(context);
    await untilLater("it waits", () => areWaiting([dear!]));
    const cheap = await fundedInBlock(1, attacker);
    await untilLater("another is executed", () => areExecuted(cheap));
    assert.ok(await areWaiting([dear!]));
    await stop();
  });
});
