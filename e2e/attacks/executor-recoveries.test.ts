// Returning money: many addresses share a transaction, and one that is hostile costs itself alone.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AddressRecord } from "executable-address";
import { startCore } from "../../service/executor/test/faults/executor-for-tests.ts";
import {
  assertAccounted,
  attacker,
  count,
  fatesOf,
  prepareAttack,
  until,
  victim,
} from "./executor-world-for-tests.ts";

const attack = await prepareAttack();
const { world, store, recordOf, save, pay, contract, jobOf, chargedTo } = attack;

/** Takes coin where gas has no price, as in a simulation; else burns all it is given. */
const burnsWhenSent = "0x3a600557005b600556";

const recoveries = async () => {
  const rows = await store.db.selectFrom("executor_purposes").selectAll().execute();
  return rows.filter(({ kind, state }) => kind === "recover" && state === "settled");
};

/** Money on the wrong chain, which goes back whenever somebody looks. */
const misplaced = (many: number, change: object = {}) =>
  Promise.all(Array.from({ length: many }, () => recordOf({ chainId: 10, ...change })));

const isBack = async (records: readonly AddressRecord[]) =>
  (await fatesOf(world, records)).every(({ held }) => held === 0n);

describe("money to be returned to many addresses", () => {
  test("goes in few transactions; one that burns its share fails alone", async (context) => {
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
    const sent = (await recoveries()).length;
    assert.ok(sent <= Math.ceil(good.length / 20), `${sent} transactions`);
    // The token of the hostile ones went back too: only the coin was refused.
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
