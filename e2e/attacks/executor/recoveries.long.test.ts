// Tests recoveries, which return money. Many recoveries share one transaction, and a hostile
// recipient affects only its own recovery.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { decodeFunctionData, toHex } from "viem";
import { isAtRest, startCore } from "../../../service/testing/executor/executor.ts";
import {
  assertAccounted,
  attacker,
  count,
  fatesOf,
  inNoTime,
  prepareAttack,
  until,
  victim,
} from "./world.ts";

const attack = await prepareAttack();
const { world, store, recordOf, save, pay, contract, jobOf, chargedTo } = attack;

/**
 * The code of a contract that accepts native coin only from the sender of the transaction. For any
 * other caller, the code burns all gas. In the executor's simulation, the vault is both the caller
 * and the sender.
 */
const burnsWhenSent = "0x323314600a575b6006565b00";

const recoveries = async () => {
  const rows = await store.db.selectFrom("executor_purposes").selectAll().execute();
  return rows.filter(({ kind, state }) => kind === "recover" && state === "settled");
};

/**
 * Creates addresses of intents for another chain. Their calls cannot run on this chain, so money on
 * this chain can be returned immediately.
 */
const misplaced = (many: number, change: object = {}) =>
  Promise.all(Array.from({ length: many }, () => recordOf({ chainId: 10, ...change })));

const isBack = async (records: readonly AddressRecord[]) =>
  (await fatesOf(world, records)).every(({ held }) => held === 0n);

describe("refunds for many addresses", () => {
  test("need few transactions despite hostile recipients", async (context) => {
    const good = await misplaced(count(60, 200));
    const hostile: AddressRecord[] = [];
    for (let i = 0; i < 3; i++) {
      hostile.push(...(await misplaced(1, { recovery: await contract(burnsWhenSent) })));
    }
    await save(good, victim);
    await save(hostile, attacker);
    await pay(good);
    for (const { address } of hostile) {
      await world.client.sendTransaction({ to: address, value: 10n ** 17n, gas: 50_000n });
    }
    await pay(hostile);
    await world.mine();
    world.startTicking(200);
    const running = startCore(store, world.chains());
    context.after(running.stop);
    await until("the good ones are back", () => isBack(good));
    await until("what returned them is settled", () => isAtRest(store));
    const sent = (await recoveries()).length;
    assert.ok(sent > 0 && sent <= Math.ceil(good.length / 20), `${sent} transactions`);
    // The hostile recipients reject only native coin, so the executor must still send them their
    // tokens.
    await until("the hostile ones were tried", async () => {
      const jobs = await Promise.all(hostile.map(({ address }) => jobOf(address)));
      return jobs.every((job) => job !== undefined && job.recovery_failures > 0);
    });
    assert.ok(await isBack(hostile));
    for (const { address } of good) assert.equal((await jobOf(address))?.recovery_failures, 0);
    await running.stop();
    await assertAccounted(attack, [...good, ...hostile]);
    const each = (await chargedTo(victim)) / BigInt(good.length);
    context.diagnostic(`${good.length} in ${sent} transactions, ${each} wei for each`);
  });
});

describe("a recovery that needs more gas than a block permits", () => {
  const setLimit = (gasLimit: bigint) => world.client.setBlockGasLimit({ gasLimit });

  test("is split into one transaction per token", async (context) => {
    const [record] = await misplaced(1);
    await save([record!], victim);
    await pay([record!], 5n);
    await world.pay([{ to: record!.address, amount: 7n, token: world.otherToken }]);
    await world.mine();
    context.after(() => setLimit(60_000_000n));
    await setLimit(300_000n);
    await world.mine();
    const running = startCore(store, world.chains(), inNoTime);
    context.after(running.stop);
    const isSent = () => running.events.some(({ kind }) => kind === "sent");
    const reason = async () => (await jobOf(record!.address))?.reason;
    await until("it was tried", async () => isSent() || Boolean(await reason()));
    assert.match((await reason()) ?? "it is sent", /^takes \d+ gas, but the limit is \d+$/);
    assert.ok(!isSent());

    await setLimit(430_000n);
    const backIn = async (token: Hex) => world.balanceOf(record!.intent.recovery, token);
    await until("both tokens are back", async () => {
      await world.client.increaseTime({ seconds: 30 });
      await world.mine();
      return (await backIn(world.token)) === 5n && (await backIn(world.otherToken)) === 7n;
    });
    await until("they are settled", () => isAtRest(store));
    await running.stop();
    const fills = await store.db
      .selectFrom("executor_purposes")
      .select("id")
      .where("kind", "=", "fill")
      .execute();
    assert.equal(fills.length, 0);
    const purposes = await store.db
      .selectFrom("executor_purpose_addresses")
      .select("purpose_id")
      .where("address", "=", fromHex(record!.address))
      .execute();
    assert.equal(purposes.length, 2);
  });
});

describe("a token that represents the native coin", () => {
  /** balanceOf returns the native balance; all other functions return true and do nothing. */
  const coin: Hex = "0x5f3560e01c6370a082311460165760015f5260205ff35b600435315f5260205ff3";

  test("a recovery does not return the same coin twice", async (context) => {
    const token = await contract(coin);
    const { timestamp } = await world.client.getBlock();
    const record = await recordOf({ token, expirationTimestamp: Number(timestamp) - 1 });
    const tokens = [{ symbol: "COIN", address: token, decimals: 18 }];
    await world.client.setBalance({ address: record.address, value: 10n ** 17n });
    const running = startCore(store, world.chains([world.rpcUrl], { tokens }));
    context.after(running.stop);
    // The coin arrived without a log, and before the address had a record. The executor therefore
    // notices the money only when it loads the new record.
    await save([record], victim);
    await until("it was tried", async () => (await jobOf(record.address))?.recovery_failures === 1);
    const sent = (await recoveries()).at(-1)!;
    const { args } = decodeFunctionData({ abi: paymentFactoryAbi, data: toHex(sent.data) });
    assert.deepEqual(args?.[1], [token]);
    await running.stop();
  });
});
