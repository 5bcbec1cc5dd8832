// Tests tokens that imitate a listed token (look-alikes). Look-alikes do not count toward the
// amount, and do not delay other payments. They appear in the status and are returned to
// `recovery`.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressRecord, Hex } from "executable-address";
import { type ServiceStatus, transferTopic } from "executable-address/status";
import { concatHex, parseAbi } from "viem";
import { chainsOf, startApp } from "../../testing/app.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import { saveRecords, shop, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore, twoKeys } from "../../testing/executor/executor.ts";

const { world, store } = await prepare();
const { client } = world;
await client.setAutomine(true);
const bridged = await deployOdd(world, "PlainToken");
const liar = await deployOdd(world, "LyingToken", "OddTokens");
/** A token that logs transfers without moving anything, and always reports a balance of 2^255. */
const ghost: Hex = "0x6057000000000000000000000000000000000057";
await client.setCode({
  address: ghost,
  bytecode: concatHex([
    // If the calldata does not have 68 bytes, return 2^255.
    ...(["0x36604414601257", "0x600160ff1b5f5260205ff3"] as const),
    // Otherwise, log Transfer(0, the first argument, the second argument), and return true.
    ...(["0x5b6024355f526004355f7f", transferTopic, "0x60205fa3"] as const),
    "0x60015f5260205ff3",
  ]),
});
await client.setAutomine(false);
world.startTicking(150);

const lookalikeOf = (address: Hex, symbol: string) => ({
  ...{ symbol, name: "Bridged demo", address, decimals: 6, looksLike: "DEMO", recoverMin: "100" },
});
const chains = world.chains([world.rpcUrl], {
  lookalikes: [
    lookalikeOf(bridged, "DEMO.e"),
    lookalikeOf(liar, "LIAR"),
    lookalikeOf(ghost, "GHOST"),
  ],
});
const api = await startApp({
  store,
  chains: chainsOf(chains),
});
const running = startCore(store, chains);
after(async () => {
  await running.stop();
  await api.app.close();
});

const pay = (to: Hex, amount: bigint, token = world.token) => world.pay([{ to, amount, token }]);
const statusOf = async (address: Hex): Promise<ServiceStatus> =>
  (await api.app.inject(`/v1/address/${address}/status`)).json();
const wrongIn = async (address: Hex) => (await statusOf(address)).wrongTokens ?? [];
const recoveredIn = async (address: Hex) =>
  (await statusOf(address)).recoveries.map(({ token, amount }) => [token, amount]);
const jobs = async () =>
  Number(
    (
      await store.db
        .selectFrom("executor_jobs")
        .select(({ fn }) => fn.countAll().as("n"))
        .execute()
    )[0]!.n,
  );
/** Returns the number of the executor's transactions. */
const sent = () => client.getTransactionCount({ address: twoKeys[0]!.address });

const openRecord = async (secondsLeft?: number): Promise<AddressRecord> => {
  const record = await world.newRecord(secondsLeft === undefined ? {} : { secondsLeft });
  await saveRecords(store, [record]);
  return record;
};

describe("a look-alike of a listed token", () => {
  test("appears in the status and is returned after the execution", async () => {
    const { address, intent } = await openRecord();
    await pay(address, 2_500n, bridged);
    await until("the status shows the look-alike", async () => (await wrongIn(address)).length > 0);
    const { state, strays, balance, wrongTokens } = await statusOf(address);
    assert.deepEqual([state, strays, balance], ["unfunded", [], "0"]);
    const [wrong] = wrongTokens!;
    const { transactionHash, payer, ...rest } = wrong!;
    assert.deepEqual(rest, {
      ...{ token: bridged, amount: "2500", symbol: "DEMO.e", name: "Bridged demo", decimals: 6 },
      looksLike: "DEMO",
    });
    const { logs } = await client.getTransactionReceipt({ hash: transactionHash! });
    assert.equal(logs[0]?.address, bridged.toLowerCase());
    assert.equal(payer, `0x${"0".repeat(40)}`);
    await pay(address, BigInt(intent.amount));
    await until("the look-alike is returned", async () => (await recoveredIn(address)).length > 0);
    assert.deepEqual(await recoveredIn(address), [[bridged, "2500"]]);
    assert.equal(await world.balanceOf(intent.recovery, bridged), 2_500n);
    assert.equal(await world.balanceOf(shop, bridged), 0n);
    const after = await statusOf(address);
    assert.equal(after.state, "executed");
    assert.equal(after.execution?.left, "0");
    assert.deepEqual(after.wrongTokens, []);
  });

  test("is returned if it arrives after the execution", async () => {
    const { address, intent } = await openRecord();
    await pay(address, BigInt(intent.amount));
    await until("it is executed", async () => (await statusOf(address)).state === "executed");
    await pay(address, 100n, bridged);
    await until("the look-alike is returned", async () => (await recoveredIn(address)).length > 0);
    assert.equal(await world.balanceOf(intent.recovery, bridged), 100n);
  });

  test("is returned after the expiration time if the address is not paid", async () => {
    const { address, intent } = await openRecord(600);
    await pay(address, 700n, bridged);
    await until("the status shows the look-alike", async () => (await wrongIn(address)).length > 0);
    await client.increaseTime({ seconds: 700 });
    await until("the look-alike is returned", async () => (await recoveredIn(address)).length > 0);
    assert.deepEqual(await recoveredIn(address), [[bridged, "700"]]);
    assert.equal(await world.balanceOf(intent.recovery, bridged), 700n);
    assert.equal((await statusOf(address)).state, "recovered");
  });
});

describe("an attack with a look-alike token", () => {
  test("causes no job and no transaction if the amount is dust", async () => {
    const records = await Promise.all(Array.from({ length: 20 }, () => openRecord()));
    const before = {
      jobs: await jobs(),
      sent: await sent(),
    };
    const dust = records.flatMap(({ address }) =>
      Array.from({ length: 5 }, () => ({ to: address, amount: 99n, token: bridged })),
    );
    await world.pay(dust);
    const paid = await openRecord();
    await pay(paid.address, BigInt(paid.intent.amount));
    await until("it is executed", async () => (await statusOf(paid.address)).state === "executed");
    assert.equal(await jobs(), before.jobs + 1);
    assert.equal(await sent(), before.sent + 1);
    for (const { address } of records.slice(0, 3)) {
      assert.deepEqual(await wrongIn(address), []);
    }
  });

  test("causes no transaction if the token reports a balance without a transfer", async () => {
    const { address, intent } = await openRecord();
    const lie = parseAbi(["function lie(uint256, uint256, bool)"]);
    const args = [2n ** 255n, 32n, false] as const;
    await client.writeContract({ address: liar, abi: lie, functionName: "lie", args });
    await pay(address, BigInt(intent.amount));
    await until("it is executed", async () => (await statusOf(address)).state === "executed");
    const before = await sent();
    await sleep(2_000);
    assert.equal(await sent(), before);
    assert.deepEqual(await wrongIn(address), []);
  });

  test("causes at most three transactions a day if the token logs invented transfers", async () => {
    const { address, intent } = await openRecord();
    await pay(address, BigInt(intent.amount));
    await until("it is executed", async () => (await statusOf(address)).state === "executed");
    const before = await sent();
    for (let round = 0; round < 8; round++) {
      await pay(address, 1_000n, ghost);
      await client.mine({ blocks: 2 });
      await sleep(500);
    }
    const [other] = [await openRecord()];
    await pay(other.address, BigInt(other.intent.amount));
    await until(
      "other payments are executed",
      async () => (await statusOf(other.address)).state === "executed",
    );
    const spent = (await sent()) - before - 1;
    assert.ok(spent >= 1 && spent <= 3, `${spent} transactions`);
    // A listed token at the same address is not delayed.
    await pay(address, 5n);
    await client.increaseTime({ seconds: 90_000 });
    await until("the surplus is returned", async () => {
      return (await world.balanceOf(intent.recovery)) === 5n;
    });
  });
});
