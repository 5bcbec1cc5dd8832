// Tests intents with a tolerance: the amount is 25, and a payment of 24.75 is enough.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, type Hex, makeRecord, payWithTolerance } from "executable-address";
import { factoryAddress, paymentFactoryAbi, periphery } from "executable-address-contracts";
import { deployOnce } from "executable-address-contracts/deploy";
import { keccak256, stringToHex } from "viem";
import { localChainId } from "../../../scripts/local-chain.ts";
import { saveRecords, shop, unit, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";

const { world, store } = await prepare({ tickMs: 100 });
before(() => deployOnce(world.client, periphery.collector.bytecode));
const { stop } = startCore(store, world.chains());
after(stop);

const [most, least] = [25n * unit, (2475n * unit) / 100n];

/**
 * Creates an address that requests 25 tokens and accepts 24.75 tokens. An excess is returned to
 * `recovery`.
 */
async function newTolerant(name: string): Promise<AddressRecord> {
  const { timestamp } = await world.client.getBlock();
  const record = makeRecord({
    ...payWithTolerance({ token: world.token, recipient: shop, least, most }),
    expirationTimestamp: Number(timestamp) + 86_400,
    recovery: recoveryOf(name),
    salt: keccak256(stringToHex(name)),
    chainId: localChainId,
  });
  await saveRecords(store, [record]);
  return record;
}
const recoveryOf = (name: string): Hex => `0x${keccak256(stringToHex(name)).slice(-40)}`;
const pay = ({ address }: AddressRecord, amount: bigint) => world.pay([{ to: address, amount }]);
const isExecuted = async (record: AddressRecord) => (await executionsOf(record)).executed === 1;

async function executionsOf(record: AddressRecord) {
  const executions = await world.client.getContractEvents({
    ...{ address: factoryAddress, abi: paymentFactoryAbi, eventName: "Executed" },
    ...{ args: { vault: record.address }, fromBlock: 0n, strict: true },
  });
  return { executed: executions.length, hash: executions[0]?.transactionHash };
}

describe("an address that requests 25 and accepts 24.75", () => {
  test("waits while its balance is 24.7, and is executed at a balance of 24.8", async () => {
    const record = await newTolerant("short");
    const before = await world.balanceOf(shop);
    await pay(record, (247n * unit) / 10n);
    await until("the executor has read its balance", async () => {
      const row = await store.db
        .selectFrom("executor_jobs")
        .select("reason")
        .where("address", "=", Buffer.from(record.address.slice(2), "hex"))
        .executeTakeFirst();
      return row?.reason === "underfunded";
    });
    assert.equal(await isExecuted(record), false);
    assert.equal(await world.balanceOf(record.address), (247n * unit) / 10n);
    await pay(record, unit / 10n);
    await until("it is executed", () => isExecuted(record));
    assert.equal((await world.balanceOf(shop)) - before, (248n * unit) / 10n);
  });

  test("forwards a payment of 24.9 in full, with 100,000 to 140,000 gas", async (context) => {
    const record = await newTolerant("fee");
    const before = await world.balanceOf(shop);
    await pay(record, (249n * unit) / 10n);
    await until("it is executed", () => isExecuted(record));
    assert.equal((await world.balanceOf(shop)) - before, (249n * unit) / 10n);
    assert.equal(await world.balanceOf(record.address), 0n);
    const { hash } = await executionsOf(record);
    const { gasUsed } = await world.client.getTransactionReceipt({ hash: hash! });
    context.diagnostic(`${gasUsed} gas`);
    assert.ok(gasUsed > 100_000n && gasUsed < 140_000n, `${gasUsed} gas`);
  });

  test("forwards 25 of a payment of 26, and returns 1", async () => {
    const record = await newTolerant("surplus");
    const before = await world.balanceOf(shop);
    await pay(record, 26n * unit);
    await until("it is executed", () => isExecuted(record));
    assert.equal((await world.balanceOf(shop)) - before, most);
    await until("the surplus is returned", async () => {
      return (await world.balanceOf(record.intent.recovery)) === unit;
    });
    assert.equal(await world.balanceOf(record.address), 0n);
  });
});
