// Tests that hostile addresses delay other payments by at most 10 blocks. Other payments must not
// fail.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { encodeExecution, fromHex, toHex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { parseTransaction } from "viem";
import { isHardhat } from "../../../contracts/testing/local-node.ts";
import type { Parts } from "../../../service/executor/pass.ts";
import { startCore } from "../../../service/testing/executor/executor.ts";
import {
  assertAccounted,
  attacker,
  blake2f,
  burns27Million,
  burnsAll,
  control,
  count,
  fatesOf,
  paceBlocks,
  prepareAttack,
  until,
  victim,
} from "./world.ts";

const attack = await prepareAttack();
/**
 * The last test uses its own chain and database. Otherwise, its transaction could contain retries
 * of other tests.
 */
const untouched = await prepareAttack();
const { world, store, recordOf, save, pay, contract, fundedInBlock, jobOf, goodPayments } = attack;
const paced = paceBlocks(attack, 400);

/**
 * The maximum number of blocks that a payment takes if there is no attack. The first test measures
 * this number.
 */
let alone = 0;
/** The permitted number of additional blocks during an attack. */
const blocksMore = 10;

const transactionGasMax = 16_777_216;

describe("payments during an attack", () => {
  test("control: payments succeed without an attack", async (context) => {
    const running = startCore(store, world.chains(), paced);
    context.after(running.stop);
    alone = Math.max(...(await goodPayments(5)));
    context.diagnostic(`${alone} blocks`);
    await running.stop();
  });

  const survive = async (
    context: { diagnostic(text: string): void; after(undo: () => unknown): void },
    hostile: AddressRecord[],
    confirmations = 0,
    isOver = async () => true,
  ) => {
    const chains = world.chains([world.rpcUrl], { confirmations });
    const running = startCore(store, chains, paced);
    context.after(running.stop);
    const waits: number[] = [];
    for (let round = 0; round < count(1, 6); round++) waits.push(...(await goodPayments(5)));
    context.diagnostic(`at most ${Math.max(...waits)} blocks, ${alone} alone`);
    assert.ok(Math.max(...waits) <= alone + blocksMore, `waited ${waits}`);
    const sent = await store.db.selectFrom("executor_purposes").select("gas").execute();
    assert.ok(sent.every(({ gas }) => gas <= transactionGasMax));
    await assertAccounted(attack, hostile);
    await until("the hostile ones are done with", isOver);
    await running.stop();
    return running.events;
  };

  for (const [name, code] of [
    ["27 million", burns27Million],
    ["all", burnsAll],
  ] as const) {
    test(`wait at most 10 blocks longer if refunds burn ${name} gas`, async (context) => {
      const hostile = await Promise.all(
        Array.from({ length: count(5, 20) }, async () =>
          recordOf({ chainId: 10, recovery: await contract(code) }),
        ),
      );
      await save(hostile, attacker);
      for (const { address } of hostile) {
        await world.client.sendTransaction({ to: address, value: 10n ** 17n, gas: 50_000n });
      }
      await pay(hostile);
      // Only the token is returned. The native coin stays, because its recipient burns too much
      // gas.
      const isBack = async () => (await fatesOf(world, hostile)).every(({ held }) => held === 0n);
      await survive(context, hostile, 0, isBack);
      for (const { address } of hostile) {
        assert.equal(await world.client.getBalance({ address }), 10n ** 17n);
      }
    });
  }

  test("control: a node rejects a transaction with 80 million gas", async () => {
    const gas = "0x4c4b400"; // 80 million gas exceed the block gas limit of 60 million.
    const from = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    const [answer] = await world.ask([
      { method: "eth_sendTransaction", params: [{ from, to: factoryAddress, gas }] },
    ]);
    assert.match(answer?.error?.message ?? "", /gas/i);
  });

  test("wait at most 10 blocks longer if intents use much gas", async (context) => {
    const target = await contract(blake2f(36_000_000));
    const calls = [{ target, function: "go()", args: [] }];
    const hostile = await Promise.all(
      Array.from({ length: count(20, 100) }, () => recordOf({ calls })),
    );
    await save(hostile, attacker);
    await pay(hostile);
    await survive(context, hostile);
    await until("the last of them was tried", async () => {
      const jobs = await Promise.all(hostile.map(({ address }) => jobOf(address)));
      return jobs.every((job) => job !== undefined && job.failures > 0);
    });
    assert.ok((await fatesOf(world, hostile)).every((fate) => fate.executed === 0));
  });

  const skip = isHardhat && "hardhat rejects calls with more gas than a transaction may use";
  test("control: a call without a gas limit can use 36 million gas in a simulation", {
    skip,
  }, async () => {
    const target = await contract(blake2f(36_000_000));
    const record = await recordOf({ calls: [{ target, function: "go()", args: [] }] });
    await pay([record]);
    await world.mine();
    const call = { to: factoryAddress, data: toHex(encodeExecution(record.intent)) };
    const run = async (more: object) => {
      const params = [{ ...call, ...more }, "latest"];
      return (await world.ask([{ method: "eth_call", params }]))[0]!;
    };
    assert.ok((await run({ gas: "0x4c4b40" as Hex })).error);
    assert.equal((await run({})).error, undefined);
  });

  test("wait at most 10 blocks longer if 120 refunds are due", async (context) => {
    const hostile = await Promise.all(Array.from({ length: 120 }, () => recordOf({ chainId: 10 })));
    await save(hostile, attacker);
    await pay(hostile, 1n);
    await survive(context, hostile, 12);
  });

  test("wait at most 10 blocks longer if a node rejects a transaction", async (context) => {
    let refused = 0;
    const running = startCore(store, world.chains(), (core) =>
      paced({
        ...core,
        endpoints: core.endpoints.map((rpc) => ({
          name: rpc.name,
          async ask(calls, timeoutMs) {
            const answers = await rpc.ask(calls, timeoutMs);
            return answers.map((answer, index) => {
              const { method, params } = calls[index]!;
              if (method !== "eth_sendRawTransaction" || refused > 0) return answer;
              assert.ok(parseTransaction(params[0] as Hex).gas! > 21_000n);
              refused++;
              return { error: { code: -32_000, message: "exceeds block gas limit" } };
            });
          },
        })),
      }),
    );
    context.after(running.stop);
    const waits = await goodPayments(5);
    assert.equal(refused, 1);
    assert.ok(Math.max(...waits) <= alone + blocksMore, `waited ${waits}`);
    await running.stop();
  });

  describe("many waiting addresses of one account", () => {
    const slow = (core: Parts) =>
      paced({ ...core, tuning: { ...core.tuning, jobsPerPass: 3, batchItemsMax: 3 } });
    const many = (accountId: string) => fundedInBlock(count(50, 500), accountId);

    test("delay another account by at most 10 blocks", async (context) => {
      await many(attacker);
      const running = startCore(store, world.chains(), slow);
      context.after(running.stop);
      // This account has no waiting addresses, so only other accounts could delay its payments.
      const waits = await goodPayments(5, "acc_0e700000000000000000000a");
      context.diagnostic(`at most ${Math.max(...waits)} blocks, ${alone} alone`);
      assert.ok(Math.max(...waits) <= alone + blocksMore, `waited ${waits}`);
      await running.stop();
    });

    test("control: delay their own account by over 10 blocks", control, async (context) => {
      await many(victim);
      const running = startCore(store, world.chains(), slow);
      context.after(running.stop);
      const waits = await goodPayments(5);
      context.diagnostic(`at most ${Math.max(...waits)} blocks, ${alone} alone`);
      assert.ok(Math.max(...waits) > alone + blocksMore, `waited ${waits}`);
      await running.stop();
    });
  });
});

describe("another executor that is faster", () => {
  test("an execution by another executor is not counted as a failure", async (context) => {
    const { world, store, recordOf, save, pay, jobOf } = untouched;
    const running = startCore(store, world.chains());
    context.after(running.stop);
    const record = await recordOf();
    await save([record], attacker);
    await pay([record]);
    await world.mine();
    const isSent = async () => (await jobOf(record.address))?.state === "sent";
    await until("ours is on its way", isSent);
    const data = toHex(encodeExecution(record.intent));
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };
    await world.client.sendTransaction({ to: factoryAddress, data, gas: 500_000n, ...fees });
    world.startTicking(200);
    await until("it rests", async () => (await jobOf(record.address))?.state === "idle");
    const job = await jobOf(record.address);
    assert.deepEqual([job?.failures, job?.paid_failures, job?.reason], [0, 0, null]);
    assert.equal((await fatesOf(world, [record]))[0]?.executed, 1);
    const { transaction_hash } = await store.db
      .selectFrom("executor_purpose_addresses as share")
      .innerJoin("executor_purposes as purpose", "purpose.id", "share.purpose_id")
      .select("purpose.transaction_hash")
      .where("share.address", "=", fromHex(record.address))
      .executeTakeFirstOrThrow();
    const { gasUsed } = await world.client.getTransactionReceipt({ hash: transaction_hash as Hex });
    context.diagnostic(`it cost us ${gasUsed} gas`);
    assert.ok(gasUsed < 60_000n, `${gasUsed} gas`);
    await running.stop();
  });
});
