// Tests money that is sent on the wrong chain. Such money does not count toward the amount. The
// money appears in the status and in events. The executor returns it to `recovery` on the same
// chain. In some tests, one of that chain's two endpoints reports a transfer that never happened.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { fromHex, type Hex, zeroAddress } from "executable-address";
import {
  type Elsewhere,
  type ServiceStatus,
  topicOf,
  transferTopic,
} from "executable-address/status";
import type { ServiceEvent } from "executable-address/webhook";
import { factoryAddress } from "executable-address-contracts";
import { anvilChain } from "executable-address-contracts/anvil";
import { pino } from "pino";
import { toHex } from "viem";
import { parseChains } from "../../chain/chains.ts";
import { startObserver } from "../../events/observe.ts";
import { findAnchor } from "../../follow/anchors.ts";
import { keccak } from "../../store/record.ts";
import { chainsOf, startApp } from "../../testing/app.ts";
import { recoverData, startWorld } from "../../testing/chain/world.ts";
import { saveRecords, until } from "../../testing/executor/anvil-world.ts";
import { prepare, startCore } from "../../testing/executor/executor.ts";
import { startProxy } from "../../testing/executor/rpc-proxy.ts";
import { openExecutorClient, returnsFinder } from "../client.ts";

const { world, store } = await prepare({ tickMs: 150 });
const ownId = 31_338;
const own = await startWorld(ownId);
/** A transfer that never happened, although one endpoint of the other chain reports it. */
let lie: { to: Hex; amount: bigint } | undefined;
const liar = await startProxy(world.rpcUrl, async ({ method, params }, answer) => {
  if (method !== "eth_getLogs" || !lie) return answer;
  const [{ toBlock }] = params as [{ toBlock: Hex }];
  const { number, hash } = await world.client.getBlock({ blockNumber: BigInt(toBlock) });
  const log = {
    ...{ address: world.token, data: toHex(lie.amount, { size: 32 }), logIndex: "0x0" },
    topics: [transferTopic, topicOf(stranger), topicOf(lie.to)],
    ...{ blockNumber: toHex(number), blockHash: hash, transactionHash: `0x${"7".repeat(64)}` },
  };
  return { ...answer, result: [...(answer.result as object[]), log] };
});
const tokens = [{ symbol: "DMO", address: own.token, decimals: 6 }];
const chains = [
  ...parseChains(
    [{ chainId: ownId, name: "Own", rpcUrls: [own.rpcUrl], tokens, confirmations: 0 }],
    "test",
  ),
  ...world.chains([world.rpcUrl, liar.url], {
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
  executorClient: openExecutorClient(store, pino({ level: "silent" }), 10),
  chains: chainsOf(chains),
});
let running = startCore(store, chains);
const openObserver = () =>
  startObserver({
    ...api.parts,
    findReturns: returnsFinder(store.db, keccak),
    onEvents: async () => {},
    log: pino({ level: "silent" }),
  });
let observer = openObserver();
after(async () => {
  await observer.stop();
  await running.stop();
  await api.app.close();
  await own.stop();
  liar.stop();
});

/** An account that has native coin and does not belong to the service. */
const stranger: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
const there = chains[1]!.chainId;
const statusOf = async (address: Hex): Promise<ServiceStatus> =>
  (await api.app.inject(`/v1/address/${address}/status`)).json();
const openRecord = async () => {
  const record = await own.newRecord();
  await saveRecords(store, [record]);
  return record;
};
const paymentsTo = (address: Hex) =>
  store.db
    .selectFrom("payments")
    .select("amount")
    .where("address", "=", fromHex(address))
    .execute();
const newestAnchor = async () => BigInt((await findAnchor(store.db, there))?.number ?? 0);
/** Returns the saved events of an address, in order. */
const eventsOf = async (address: Hex): Promise<ServiceEvent[]> => {
  const rows = await store.db
    .selectFrom("events")
    .select("body")
    .where("address", "=", fromHex(address))
    .orderBy("sequence")
    .execute();
  return rows.map(({ body }) => JSON.parse(body));
};
const returned = ({ elsewhere }: ServiceStatus): readonly Elsewhere[] =>
  elsewhere.filter(({ state, transactionHash }) => state === "returned" && transactionHash);

describe("money that arrives on a chain other than the intent's chain", () => {
  test("is returned on the chain of the payment, and the address stays open", async () => {
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

  test("is returned after each of two payments", async () => {
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

  test("appears only in the status of the address that received it", async () => {
    const [one, other] = [await openRecord(), await openRecord()];
    await world.pay(Array.from({ length: 40 }, () => ({ to: one.address, amount: 1n })));
    await until(
      "the status shows the money",
      async () => (await statusOf(one.address)).elsewhere.length > 0,
    );
    assert.deepEqual((await statusOf(other.address)).elsewhere, []);
    const rows = await paymentsTo(one.address);
    assert.ok(rows.length <= 32, `${rows.length} rows`);
  });

  test("is shown as returned if a stranger returned it, even if dust arrives later", async () => {
    const record = await openRecord();
    const { address } = record;
    await running.stop();
    // The address receives 40 tiny transfers and a large one. Another account then recovers the
    // money before the executor does.
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
    await until("the executor has read the balance", async () => (await sums()).others > 0);
    const { held, others } = await sums();
    assert.equal(held, 0);
    assert.ok(others >= 25_000_000 && others <= 25_000_040, `${others}`);
    await world.pay([{ to: address, amount: 1n }]);
    await until("the dust is returned too", async () => (await sums()).ours > 0);
    const later = await sums();
    assert.deepEqual([later.held, later.ours], [0, 1]);
    // Saved payments per address are limited, so the reported sum may omit some tiny transfers.
    assert.ok(later.others >= 25_000_000, `${later.others}`);
  });

  test("is returned completely if it consists of native coin and a token", async () => {
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

describe("events about money on another chain", () => {
  test("report the payment and its return once each, with the other chain's ID", async () => {
    const { address, intent } = await openRecord();
    await world.pay([{ to: address, amount: 2_500n }]);
    await until("both are reported", async () => (await eventsOf(address)).length === 2);
    const [paid, back] = (await eventsOf(address)) as [ServiceEvent, ServiceEvent];
    assert.deepEqual([paid.type, back.type], ["address.payment", "address.recovered"]);
    for (const { data } of [paid, back]) {
      assert.equal(data.chainId, there);
      assert.deepEqual([data.status.chainId, data.status.state], [ownId, "unfunded"]);
      assert.deepEqual([data.status.recoveries, data.payments], [[], []]);
    }
    assert.deepEqual([paid.data.sequence, back.data.sequence], [1, 2]);
    const { payment } = paid.data;
    assert.deepEqual(
      [payment?.kind, payment?.token, payment?.amount, payment?.isLate],
      ["other_chain", world.token, "2500", false],
    );
    assert.deepEqual(paid.data.returned, []);
    assert.equal(paid.data.transactionHash, payment?.transactionHash);
    assert.equal(back.data.payment, null);
    assert.deepEqual(back.data.returned, [{ token: world.token, amount: "2500" }]);
    const hash = back.data.transactionHash!;
    const { logs } = await world.client.getTransactionReceipt({ hash });
    assert.ok(logs.some(({ topics }) => topics[2] === topicOf(intent.recovery)));

    await Promise.all([observer.stop(), running.stop()]);
    running = startCore(store, chains);
    observer = openObserver();
    await world.pay([{ to: address, amount: 40n }]);
    await until("the next payment is reported", async () => (await eventsOf(address)).length === 4);
    const later = (await eventsOf(address)).slice(2).map(({ type, data }) => [type, data.sequence]);
    assert.deepEqual(later, [
      ["address.payment", 3],
      ["address.recovered", 4],
    ]);
  });

  test("do not report a transfer that only one of two endpoints reports", async () => {
    const { address } = await openRecord();
    lie = { to: address, amount: 25_000_000n };
    const job = store.db.selectFrom("executor_jobs").where("address", "=", fromHex(address));
    await until(
      "the executor examines the address",
      async () => (await job.select("state").execute())[0]?.state === "idle",
    );
    const reached = await world.client.getBlockNumber();
    await until("it read 20 more blocks", async () => (await newestAnchor()) > reached + 20n);
    lie = undefined;
    assert.deepEqual((await statusOf(address)).elsewhere, []);
    assert.deepEqual(await eventsOf(address), []);
    await world.pay([{ to: address, amount: 30n }]);
    await until("the dust is reported", async () => (await eventsOf(address)).length === 2);
    const amounts = (await eventsOf(address)).map(({ data }) => data.payment?.amount ?? null);
    assert.deepEqual(amounts, ["30", null]);
    assert.deepEqual(
      (await statusOf(address)).elsewhere.map(({ amount, state }) => [amount, state]),
      [["30", "returned"]],
    );
  });
});
