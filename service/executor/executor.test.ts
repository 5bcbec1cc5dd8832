import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { type AddressRecord, type Hex, toHex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { localChains } from "../../scripts/local-chain.ts";
import { openChainRpc } from "../chain/rpc/chain-rpc.ts";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { openEmptyStore } from "../testing/empty-store.ts";
import {
  type AnvilWorld,
  fatesOf,
  saveRecords,
  startWorld,
  testConfig,
  until,
} from "../testing/executor/anvil-world.ts";
import { startCore } from "../testing/executor/executor.ts";
import { executorCommands } from "./admin.ts";
import { type Executor, type ExecutorParts, startExecutor } from "./start.ts";

describe("the executor on a real chain", () => {
  let world: AnvilWorld;
  let directory: string;
  let store: Store;
  let executor: Executor;
  let registry: Registry;

  before(async () => {
    world = await startWorld();
    world.startTicking(150);
  });
  after(() => world.stop());

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), "executor-"));
    store = await openStore({ dataDirectory: directory });
    // Each test has a new database. Each test also starts on a new day. Otherwise, its budget would
    // include the key's earlier transactions.
    await world.client.increaseTime({ seconds: 86_400 });
    await world.mine();
    executor = start();
  });
  afterEach(async () => {
    await executor.stop();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const newRegistry = () => {
    registry = new Registry();
    return registry;
  };
  const start = (config = testConfig, more: Pick<ExecutorParts, "listenersOf"> = {}) =>
    startExecutor({
      ...more,
      store,
      chains: world.chains(),
      factory: factoryAddress,
      config,
      registry: newRegistry(),
      log: pino({ level: process.env.LOG_LEVEL ?? "silent" }),
    });
  const paid = async (...records: AddressRecord[]) => {
    await saveRecords(store, records);
    await world.pay(records.map((r) => ({ to: r.address, amount: r.intent.amount })));
  };
  const allExecuted = async (records: AddressRecord[]) =>
    (await fatesOf(world, records)).every((fate) => fate.executed === 1);
  const jobOf = (address: Hex) =>
    store.db
      .selectFrom("executor_jobs")
      .selectAll()
      .execute()
      .then((rows) => rows.find((row) => toHex(row.address) === address.toLowerCase()));

  test("executes an address when the missing part of the amount arrives", async () => {
    const record = await world.newRecord({ amount: 100n });
    await saveRecords(store, [record]);
    await world.pay([{ to: record.address, amount: 40n }]);
    await until("it is seen", async () => (await jobOf(record.address))?.reason === "underfunded");
    await world.pay([{ to: record.address, amount: 60n }]);
    await until("it is executed", () => allExecuted([record]));
  });

  test("returns the money of an intent that reverts, and delays no other intent", async () => {
    const bad = await world.newRecord({ reverts: true, secondsLeft: 400 });
    const good = await Promise.all(Array.from({ length: 5 }, () => world.newRecord()));
    await paid(bad, ...good);
    await until("the others are executed", () => allExecuted(good));
    await until("the failure is known", async () => (await jobOf(bad.address))?.failures === 1);
    assert.match((await jobOf(bad.address))?.reason ?? "", /CallFailed/);
    await world.client.increaseTime({ seconds: 500 });
    await until("it is returned", async () => {
      const [fate] = await fatesOf(world, [bad]);
      return fate?.recovered === BigInt(bad.intent.amount);
    });
  });

  test("reports the used share of the daily budget", async () => {
    await executor.stop();
    executor = start({ ...testConfig, executorGasPerDayMax: String(10n ** 15n) });
    const readShare = async () =>
      Number(/budget_share\{chain="31337"\} (\S+)/.exec(await registry.metrics())?.[1] ?? 0);
    await paid(...(await Promise.all([world.newRecord(), world.newRecord()])));
    await until("a part of the budget is used", async () => (await readShare()) > 0);
    assert.ok((await readShare()) <= 1);
    await world.client.increaseTime({ seconds: 86_400 });
    await until("the next day begins", async () => (await readShare()) === 0);
  });

  test("passes each new block to other parts of the service", async () => {
    await executor.stop();
    const unreachable = openChainRpc(["http://127.0.0.1:9"]);
    executor = start(testConfig, { listenersOf: () => ({ onHead: unreachable.heads.note }) });
    const seen = new Set<number>();
    await until("three heads are reported", async () => {
      const head = await unreachable.heads.read(60_000).catch(() => undefined);
      if (head) seen.add(head.number);
      return seen.size === 3;
    });
    const { number, hash } = await unreachable.heads.read(60_000);
    const block = await world.client.getBlock({ blockNumber: BigInt(number) });
    assert.equal(hash, block.hash);
  });

  test("returns surplus, late payments, and a token that the intent does not request", async () => {
    const record = await world.newRecord({ amount: 100n });
    await saveRecords(store, [record]);
    await world.pay([{ to: record.address, amount: 130n }]);
    await until("the surplus is back", async () => {
      const [fate] = await fatesOf(world, [record]);
      return fate?.executed === 1 && fate.recovered === 30n;
    });
    await world.pay([
      { to: record.address, amount: 7n },
      { to: record.address, amount: 9n, token: world.otherToken },
    ]);
    await until("late money is back", async () => {
      const other = await world.balanceOf(record.intent.recovery, world.otherToken);
      return other === 9n && (await fatesOf(world, [record]))[0]?.recovered === 37n;
    });
  });

  test("immediately returns a payment for an intent of another chain", async () => {
    const record = await world.newRecord({ chainId: 10 });
    await paid(record);
    await until("it is back", async () => {
      const [fate] = await fatesOf(world, [record]);
      return fate?.recovered === BigInt(record.intent.amount);
    });
  });

  test("sends nothing if its key could not pay for a replacement transaction", async (context) => {
    await executor.stop();
    const [address] = executor.addresses;
    const wei = await world.client.getBalance({ address: address! });
    await world.client.setBalance({ address: address!, value: 10n ** 12n });
    let skippedMs = 0;
    const running = startCore(store, world.chains(), (core) => ({
      ...core,
      clock: () => core.clock() + skippedMs,
    }));
    context.after(running.stop);
    const record = await world.newRecord();
    await paid(record);
    await until("it has stopped", async () =>
      running.events.some(({ kind }) => kind === "stopped_for_balance"),
    );
    const sent = await store.db.selectFrom("executor_transactions").selectAll().execute();
    assert.equal(sent.length, 0, "a transaction was sent");
    await world.client.setBalance({ address: address!, value: wei });
    // While no key has money, the executor reads the balance every 15 s.
    skippedMs = 15_000;
    await world.client.increaseTime({ seconds: 15 });
    await until("it is executed", () => allExecuted([record]));
  });

  test("sends nothing that could cost more than the daily budget", async () => {
    await executor.stop();
    const records = await Promise.all([1, 2, 3].map(() => world.newRecord()));
    await paid(...records);
    await world.mine(5);
    executor = start({ ...testConfig, executorGasPerDayMax: "1" });
    await until("all jobs wait with the reason", async () => {
      const jobs = await Promise.all(records.map(({ address }) => jobOf(address)));
      return jobs.every((job) => job?.reason === "budget_spent");
    });
    const sent = await store.db.selectFrom("executor_transactions").selectAll().execute();
    assert.equal(sent.length, 0, "a budget of 1 wei was exceeded");
  });

  test("finds payments that were made while the executor did not run", async () => {
    await executor.stop();
    const records = await Promise.all(Array.from({ length: 3 }, () => world.newRecord()));
    for (const record of records) {
      await paid(record);
      await world.mine(300);
    }
    executor = start();
    await until("all are executed", () => allExecuted(records));
  });

  test("lists jobs and retries an address on an operator's command", async () => {
    const chainsFile = join(directory, "chains.json");
    const run = (words: string, options = {}) =>
      executorCommands
        .find((command) => command.words === words)!
        .run({ store, publicUrl: "", dataDirectory: directory, chainsFile }, { options, rest: [] });
    writeFileSync(chainsFile, JSON.stringify(localChains("http://127.0.0.1:1")));
    const bad = await world.newRecord({ reverts: true });
    await paid(bad);
    await until("it has failed", async () => (await jobOf(bad.address))?.failures === 1);
    const stranger = await world.newRecord();
    const message = `no intent is stored for ${stranger.address}`;
    await assert.rejects(run("executor retry", { address: stranger.address }), { message });
    await assert.rejects(run("executor retry"), /expected --address A, found no --address/);
    await assert.rejects(
      run("executor retry", { address: bad.address, chain: "5" }),
      /^Error: .*chains\.json does not list chain 5; it lists 31337$/,
    );
    await assert.rejects(run("executor retry", { address: "0x12" }), /^Error: --address: /);
    await run("executor retry", { address: bad.address });
    await until("it is tried again", async () => {
      const failures = (await registry.metrics()).match(/reason="CallFailed"\} (\d+)/);
      return Number(failures?.[1]) >= 2;
    });
    const [status] = (await run("executor status")) as { chainId: number; jobs: unknown[] }[];
    assert.equal(status?.chainId, 31_337);
    assert.match(JSON.stringify(status?.jobs), /"state":"waiting","reason":"CallFailed/);
    assert.match(JSON.stringify(status), /"recordsToScan":\d/);
  });

  test("does not execute a dropped address until an operator retries it", async () => {
    const run = (words: string, address: Hex) =>
      executorCommands
        .find((command) => command.words === words)!
        .run(
          { store, publicUrl: "", dataDirectory: directory, chainsFile },
          { options: { address }, rest: [] },
        );
    const chainsFile = join(directory, "chains.json");
    writeFileSync(chainsFile, JSON.stringify(localChains("http://127.0.0.1:1")));
    const record = await world.newRecord({ amount: 100n });
    await saveRecords(store, [record]);
    await run("executor drop", record.address);
    const good = await world.newRecord();
    await paid(record, good);
    await until("the other is executed", () => allExecuted([good]));
    const job = await jobOf(record.address);
    assert.deepEqual([job?.state, job?.reason], ["dropped", "dropped_by_operator"]);
    assert.equal((await fatesOf(world, [record]))[0]?.executed, 0);
    await run("executor retry", record.address);
    await until("it is executed after all", () => allExecuted([record]));
  });

  test("rejects a pause command that uses the chains file of another service", async () => {
    const chainsFile = join(directory, "other-chains.json");
    const tokens = [{ symbol: "DUSD", address: world.token, decimals: 6 }];
    const other = { chainId: 1, name: "Ethereum", rpcUrls: ["http://127.0.0.1:1"], tokens };
    writeFileSync(chainsFile, JSON.stringify([other]));
    const context = { store, publicUrl: "", dataDirectory: directory, chainsFile };
    const pause = executorCommands.find(({ words }) => words === "executor pause")!;
    await until("an executor has run", async () => {
      const leases = await store.db.selectFrom("executor_leases").select("chain_id").execute();
      return leases.length > 0;
    });
    const run = (options: { chain?: string }) => pause.run(context, { options, rest: [] });
    await assert.rejects(
      run({}),
      /have run on the chains 31337, but \S+ lists the chains 1; set CHAINS_FILE/,
    );
    await assert.rejects(run({ chain: "1" }), /has run on chain 1; expected one of: 31337$/);
    assert.deepEqual(await store.db.selectFrom("executor_pauses").selectAll().execute(), []);
    assert.deepEqual(await run({ chain: "31337" }), { chains: [31337], paused: true });
    const resume = executorCommands.find(({ words }) => words === "executor resume")!;
    await resume.run(context, { options: { chain: "31337" }, rest: [] });
  });

  test("rejects a pause of an unlisted chain before an executor has run", async (context) => {
    const empty = await openEmptyStore("sqlite");
    context.after(empty.stop);
    const chainsFile = join(directory, "chains.json");
    writeFileSync(chainsFile, JSON.stringify(localChains("http://127.0.0.1:1")));
    const { store } = empty;
    const pause = executorCommands.find(({ words }) => words === "executor pause")!;
    const run = (chain: string) =>
      pause.run(
        { store, publicUrl: "", dataDirectory: directory, chainsFile },
        { options: { chain }, rest: [] },
      );
    await assert.rejects(run("1"), /chains\.json does not list chain 1; it lists 31337$/);
    assert.deepEqual(await run("31337"), { chains: [31337], paused: true });
  });

  test("records payments but signs nothing while a chain is paused", async () => {
    const chainsFile = join(directory, "chains.json");
    writeFileSync(chainsFile, JSON.stringify(localChains("http://127.0.0.1:1")));
    const run = (words: string) =>
      executorCommands
        .find((command) => command.words === words)!
        .run(
          { store, publicUrl: "", dataDirectory: directory, chainsFile },
          { options: {}, rest: [] },
        );
    const record = await world.newRecord();
    await saveRecords(store, [record]);
    await run("executor pause");
    const signed = () => store.db.selectFrom("executor_transactions").select("hash").execute();
    const before = (await signed()).length;
    await paid(record);
    await until("the payment is recorded", async () => (await jobOf(record.address)) !== undefined);
    await world.mine(3);
    assert.equal((await jobOf(record.address))?.purpose_id, null);
    assert.equal((await signed()).length, before);
    await run("executor resume");
    await until("it is executed", () => allExecuted([record]));
  });

  test("stores the amounts that the event of an execution reports", async () => {
    const record = await world.newRecord();
    await paid(record);
    const outcome = () => store.db.selectFrom("executor_outcomes").selectAll().executeTakeFirst();
    await until("it is settled", async () => (await outcome()) !== undefined);
    const row = await outcome();
    assert.equal(row?.kind, "executed");
    assert.equal(row?.amount, record.intent.amount);
    assert.equal(row?.left, "0");
    assert.match(await registry.metrics(), /executor_executed_total\{chain="31337"\} 1/);
    assert.match(await registry.metrics(), /executor_last_pass_seconds\{chain="31337"\} \d{10}/);
  });
});
