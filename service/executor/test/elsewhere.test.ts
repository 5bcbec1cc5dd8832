// Tests, with two real chains, money that is sent on the wrong chain. The money does not count
// toward the amount, appears in the status, and is returned to `recovery` on the chain on which it
// arrived.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Hex, zeroAddress } from "executable-address";
import type { Elsewhere, ServiceStatus } from "executable-address/status";
import { factoryAddress } from "executable-address-contracts";
import { anvilChain } from "executable-address-contracts/anvil";
import { pino } from "pino";
import { parseChains } from "../../chain/chains.ts";
import { chainsOf, startApp } from "../../testing/app.ts";
import { recoverData, startWorld } from "../../testing/chain/world.ts";
import { saveRecords, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";
import { openDesk } from "../desk.ts";

const { world, store } = await prepare({ tickMs: 150 });
const ownId = 31_338;
const own = await startWorld(ownId);
const tokens = [{ symbol: "DMO", address: own.token, decimals: 6 }];
const chains = [
  ...parseChains([{ chainId: ownId, name: "Own", rpcUrls: [own.rpcUrl], tokens }], "test"),
  ...world.chains([world.rpcUrl], {
    lookalikes: [
      {
        ...{ symbol: "DMO.e", name: "Bridged demo", address: own.token, decimals: 6 },
        ...{ looksLike: "DUSD", recoverMin: "100" },
      },
    ],
  }),
];
const api = await startApp({
  store,
  desk: openDesk(store, pino({ level: "silent" }), 10),
  chains: chainsOf(chains),
});
let running = startCore(store, chains);
after(async () => {
  await running.stop();
  await api.app.close();
  await own.stop();
});

/** An account of the node that has coin and no relation to the service. */
const stranger: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
const there = chains[1]!.chainId;
const statusOf = async (address: Hex): Promise<ServiceStatus> =>
  (await api.app.inject(`/v1/address/${address}/status`)).json();
const openRecord = async () => {
  const record = await own.newRecord();
  await saveRecords(store, [record]);
  return record;
};
const returned = ({ elsewhere }: ServiceStatus): readonly Elsewhere[] =>
  elsewhere.filter(({ state, transactionHash }) => state === "returned" && transactionHash);

describe("money that arrives on a chain other than the intent's chain", () => {
  test("is returned on that chain and shown in the status; the address stays open", async () => {
    const { address, intent } = await openRecord();
    const before = await world.balanceOf(intent.recovery);
    assert.deepEqual((await statusOf(address)).elsewhere, []);
    await world.pay([{ to: address, amount: 2_500n }]);
    let seen: ServiceStatus["elsewhere"] = [];
    await until("the status shows the money", async () => {
      seen = (await statusOf(address)).elsewhere;
      return seen.length > 0;
    });
    const { chainId, token, amount } = seen[0]!;
    assert.deepEqual([chainId, token, amount], [there, world.token, "2500"]);
    await until("the money is returned", async () => returned(await statusOf(address)).length > 0);
    const status = await statusOf(address);
    assert.equal((await world.balanceOf(intent.recovery)) - before, 2_500n);
    const [{ transactionHash, ...rest }] = status.elsewhere as [Elsewhere];
    assert.deepEqual(rest, {
      chainId: there,
      token: world.token,
      amount: "2500",
      state: "returned",
    });
    const { logs, status: outcome } = await world.client.getTransactionReceipt({
      hash: transactionHash!,
    });
    assert.equal(outcome, "success");
    assert.ok(logs.some(({ address: from }) => from === world.token.toLowerCase()));
    assert.deepEqual([status.state, status.balance, status.chainId], ["unfunded", "0", ownId]);
  });

  test("is returned twice if money arrives twice, and the status shows both returns", async () => {
    const { address, intent } = await openRecord();
    const before = await world.balanceOf(intent.recovery);
    for (const count of [1, 2]) {
      await world.pay([{ to: address, amount: 700n }]);
      await until(
        "the money is returned",
        async () => returned(await statusOf(address)).length === count,
      );
    }
    const { elsewhere } = await statusOf(address);
    assert.deepEqual(
      elsewhere.map(({ amount, state }) => [amount, state]),
      [
        ["700", "returned"],
        ["700", "returned"],
      ],
    );
    assert.equal(new Set(elsewhere.map(({ transactionHash }) => transactionHash)).size, 2);
    assert.equal((await world.balanceOf(intent.recovery)) - before, 1_400n);
  });

  test("appears only in the status of the address that a stranger paid", async () => {
    const [one, other] = [await openRecord(), await openRecord()];
    await world.pay(Array.from({ length: 40 }, () => ({ to: one.address, amount: 1n })));
    await until(
      "the status shows the money",
      async () => (await statusOf(one.address)).elsewhere.length > 0,
    );
    assert.deepEqual((await statusOf(other.address)).elsewhere, []);
    const rows = await store.db
      .selectFrom("payments")
      .select("amount")
      .where("address", "=", Buffer.from(one.address.slice(2), "hex"))
      .execute();
    assert.ok(rows.length <= 32, `${rows.length} rows`);
  });

  test("still counts as returned by somebody else after later dust", async () => {
    const record = await openRecord();
    const { address } = record;
    await running.stop();
    // After 40 transfers of dust, a stranger returns the token before this service's executor does.
    await world.pay(Array.from({ length: 40 }, () => ({ to: address, amount: 1n })));
    await world.pay([{ to: address, amount: 25_000_000n }]);
    await until("it is there", async () => (await world.balanceOf(address)) === 25_000_040n);
    await world.client.sendTransaction({
      ...{ account: stranger, chain: anvilChain, to: factoryAddress },
      data: recoverData(record, [world.token]),
    });
    await until("the money is returned", async () => (await world.balanceOf(address)) === 0n);
    running = startCore(store, chains);
    const sums = async () => {
      const { elsewhere } = await statusOf(address);
      const of = (state: string, isOurs: boolean) =>
        elsewhere
          .filter((each) => each.state === state && (each.transactionHash !== null) === isOurs)
          .reduce((sum, { amount }) => sum + Number(amount), 0);
      return { held: of("held", true), ours: of("returned", true), others: of("returned", false) };
    };
    await until("the executor has looked", async () => (await sums()).others > 0);
    const { held, others } = await sums();
    assert.equal(held, 0);
    assert.ok(others >= 25_000_000 && others <= 25_000_040, `${others}`);
    await world.pay([{ to: address, amount: 1n }]);
    await until("the dust is returned too", async () => (await sums()).ours > 0);
    const later = await sums();
    assert.deepEqual([later.held, later.ours], [0, 1]);
    // Dust beyond the limit of rows is returned, but does not count as arrived.
    assert.ok(later.others >= 25_000_000, `${later.others}`);
  });

  test("stays at the address if it is native coin, until it returns with a token", async () => {
    const { address, intent } = await openRecord();
    const before = await world.client.getBalance({ address: intent.recovery });
    await running.stop();
    await world.client.setBalance({ address, value: 5n });
    await world.pay([{ to: address, amount: 30n }]);
    running = startCore(store, chains);
    await until(
      "both amounts are returned",
      async () => returned(await statusOf(address)).length === 2,
    );
    const { elsewhere } = await statusOf(address);
    assert.deepEqual(
      elsewhere.map(({ token, amount, state }) => [token, amount, state]).sort(),
      [
        [zeroAddress, "5", "returned"],
        [world.token, "30", "returned"],
      ].sort(),
    );
    assert.equal((await world.client.getBalance({ address: intent.recovery })) - before, 5n);
  });
});
