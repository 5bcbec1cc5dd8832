import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Hex, toHex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import { factoryAddress } from "executable-address-contracts";
import { pino } from "pino";
import { Registry } from "prom-client";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startApp } from "../testing/app.ts";
import { chainsAt, keepRecord } from "../testing/app-on-chain.ts";
import { startWorld, testConfig, until } from "../testing/executor/anvil-world.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { jobFinder, openExecutorClient, openWake } from "./client.ts";
import { openLedger } from "./ledger/ledger.ts";
import { startExecutor } from "./start.ts";

const log = pino({ level: "silent" });
const token: Hex = `0x${"aa".repeat(20)}`;
const native: Hex = `0x${"00".repeat(20)}`;
const chainId = 1;

/** Returns the status of an open, unfunded address, with the fields in `change` replaced. */
const seen = (address: Hex, change: Partial<AddressStatus> = {}) =>
  ({
    address,
    state: "unfunded",
    chainId,
    block: { number: 100, hash: "0x", timestamp: 9_000 },
    balance: "0",
    recoverable: [],
    ...change,
  }) as unknown as AddressStatus;
const at = (number: number, timestamp = 9_000): Partial<AddressStatus> => ({
  block: { number, hash: "0x", timestamp },
});
const funded = { state: "funded", balance: "5" } as const;

describe("a request for the status of an address", () => {
  let postgres: TestPostgres;
  let stores: Store[];
  let drawn = 0;

  /**
   * Opens one API server. `look` makes an address's job due if the status reports money that the
   * executor has not detected.
   */
  const openOne = (store = stores[0]!) => {
    const [find, wake] = [jobFinder(store.db), openWake(store.db, log)];
    return {
      look: async (status: AddressStatus) => wake(status, await find(status)),
    };
  };
  const newAddress = (): Hex => `0x${(++drawn).toString(16).padStart(40, "0")}`;
  const jobOf = async (address: Hex) => {
    const rows = await stores[0]!.db.selectFrom("executor_jobs").selectAll().execute();
    return rows.find((row) => toHex(row.address) === address);
  };
  const setJob = async (address: Hex, change: object) => {
    await stores[0]!.db
      .updateTable("executor_jobs")
      .set(change)
      .where("address", "=", Buffer.from(address.slice(2), "hex"))
      .execute();
  };

  before(async () => {
    postgres = await startPostgres();
    const open = () => openStore({ dataDirectory: "", databaseUrl: postgres.url });
    stores = [await open(), await open()];
  });
  after(async () => {
    for (const store of stores) await store.close();
    await postgres.stop();
  });

  test("creates no job if no executor has ever run on the chain", async () => {
    const address = newAddress();
    assert.equal(await openOne().look(seen(address, funded)), false);
    assert.equal(await jobOf(address), undefined);
    const ledger = openLedger(stores[0]!.db, "postgres");
    assert.ok(await ledger.takeLease(chainId, "a", undefined));
  });

  test("creates no job for an empty address", async () => {
    const address = newAddress();
    const { look } = openOne();
    for (const state of ["unfunded", "executed", "expired", "recovered"] as const) {
      const results = Array.from({ length: 50 }, () => look(seen(address, { state })));
      assert.ok((await Promise.all(results)).every((each) => !each));
    }
    assert.equal(await jobOf(address), undefined);
  });

  test("does not change a job that is sent, abandoned, or waiting for its retry time", async () => {
    const address = newAddress();
    const { look } = openOne();
    await look(seen(address, funded));
    const kept = [
      { state: "waiting", reason: "CallFailed", due_at: 9_500, not_before: 9_500, failures: 3 },
      { state: "waiting", reason: "not_worth_its_gas", due_at: 9_600 },
      { state: "sent", reason: null, due_at: null, purpose_id: "1:0x:0", failures: 3 },
      { state: "given_up", reason: "recovery_keeps_failing", due_at: null, purpose_id: null },
    ];
    for (const change of kept) {
      await setJob(address, change);
      const before = await jobOf(address);
      assert.equal(await look(seen(address, { ...funded, ...at(101, 99_000) })), false);
      assert.deepEqual(await jobOf(address), before);
    }
  });

  test("schedules the job immediately even if a node reports a wrong block", async () => {
    const address = newAddress();
    await openOne().look(seen(address, { ...funded, ...at(2 ** 50, 2 ** 50) }));
    assert.equal((await jobOf(address))?.due_at, 0);
    await setJob(address, { state: "idle", due_at: null });
    await openOne().look(seen(address, { ...funded, ...at(101) }));
    assert.equal((await jobOf(address))?.due_at, 0);
  });

  test("retries a return that was not worth its gas, but only after an hour", async () => {
    const address = newAddress();
    const recoverable = [{ token: native, amount: "1" }];
    const dust = { state: "executed" as const, recoverable };
    const { look } = openOne();
    await look(seen(address, dust));
    const givenUp = { state: "given_up", reason: "not_worth_its_gas", due_at: null };
    await setJob(address, givenUp);
    assert.equal(await look(seen(address, { ...dust, ...at(300, 9_000 + 3_599) })), false);
    assert.equal((await jobOf(address))?.due_at, null);
    assert.equal(await look(seen(address, { ...dust, ...at(301, 9_000 + 3_600) })), true);
    assert.equal((await jobOf(address))?.due_at, 0);
  });

  test("schedules an idle job at most once per block", async () => {
    const address = newAddress();
    const { look } = openOne();
    const rest = { state: "idle", due_at: null };
    await look(seen(address, funded));
    await setJob(address, rest);
    assert.equal(await look(seen(address, funded)), false);
    assert.equal(await look(seen(address, { ...funded, ...at(101) })), true);
    assert.equal((await jobOf(address))?.state, "waiting");
  });

  test("schedules a job that waits for more money if the address is now funded", async () => {
    const address = newAddress();
    const { look } = openOne();
    await look(seen(address, { state: "partially_funded", balance: "1" }));
    const short = { state: "waiting", reason: "underfunded", due_at: 99_000 };
    await setJob(address, short);
    const partly = { state: "partially_funded" as const, balance: "1" };
    assert.equal(await look(seen(address, { ...partly, ...at(101) })), false);
    assert.equal(await look(seen(address, { ...funded, ...at(101) })), true);
    assert.equal((await jobOf(address))?.due_at, 0);
    await setJob(address, short);
    assert.equal(await look(seen(address, { ...funded, ...at(101) })), false);
    assert.equal(await look(seen(address, { ...funded, ...at(102) })), true);
  });

  test("succeeds even if the database fails, but then schedules no job", async () => {
    const closed = await openStore({ dataDirectory: "", databaseUrl: postgres.url });
    const wake = openWake(closed.db, log);
    await closed.close();
    assert.equal(await wake(seen(newAddress(), funded), undefined), false);
  });

  test("schedules the job immediately even if 1,000 requests arrive simultaneously", async () => {
    const kinds: Partial<AddressStatus>[] = [
      funded,
      { state: "partially_funded", balance: "1" },
      { state: "expired", balance: "1", recoverable: [{ token, amount: "1" }] },
      { state: "executed", recoverable: [{ token: native, amount: "9" }] },
    ];
    const servers = stores.map((store) => openOne(store));
    for (const kind of kinds) {
      const address = newAddress();
      await Promise.all(
        Array.from({ length: 1000 }, (_, i) => servers[i % 2]!.look(seen(address, kind))),
      );
      const job = await jobOf(address);
      assert.deepEqual([job?.state, job?.due_at, job?.detected_block], ["waiting", 0, 100]);
    }
  });
});

test("an executor counts as active for a minute after the last renewal of its lease", async (t) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "executor-client-"));
  const store = await openStore({ dataDirectory });
  t.after(() => store.close());
  let nowMs = 0;
  const { isActive } = openExecutorClient(store, log, 10, () => nowMs);
  const isActiveAt = (seconds: number) => {
    nowMs = seconds * 1000;
    return isActive(chainId);
  };
  const ledger = openLedger(store.db, store.dialect);
  assert.equal(await isActiveAt(0), false);
  const fence = await ledger.takeLease(chainId, "one", undefined);
  assert.equal(await isActiveAt(0), true);
  assert.equal(await isActiveAt(59), true);
  await ledger.renewLease(fence!);
  assert.equal(await isActiveAt(119), true, "it renewed its lease");
  assert.equal(await isActiveAt(178), true);
  assert.equal(await isActiveAt(179), false, "it was killed");
  assert.equal(await isActiveAt(10_000), false);
  const lease = await ledger.findLease(chainId);
  const next = await ledger.takeLease(chainId, "two", lease);
  assert.equal(await isActiveAt(10_001), true, "another executor took the lease");
  await ledger.releaseLease(next!);
  assert.equal(await isActiveAt(10_002), false, "it stopped");
});

describe("an API server and an executor with a shared database", () => {
  test("return native coin only after a status request", async (context) => {
    const world = await startWorld();
    const postgres = await startPostgres();
    const databaseUrl = postgres.url;
    const store = await openStore({ dataDirectory: "", databaseUrl });
    const chains = chainsAt({ ...world, chain: { chainId: 31_337 } } as never);
    const api = await startApp({ databaseUrl, chains });
    const executor = startExecutor({
      store,
      chains: world.chains(),
      factory: factoryAddress,
      config: testConfig,
      registry: new Registry(),
      log,
    });
    world.startTicking(150);
    context.after(async () => {
      await executor.stop();
      await store.close();
      await api.close();
      await postgres.stop();
      await world.stop();
    });
    const look = (address: Hex) => api.app.inject(`/v1/address/${address}/status`);
    const sent = () => world.client.getTransactionCount({ address: executor.addresses[0]! });
    const executeOne = async () => {
      const { address, intent } = await keepRecord(api, await world.newRecord());
      await world.pay([{ to: address, amount: intent.amount }]);
      await until("the address is executed and its job is idle", async () => {
        const { state } = (await look(address)).json();
        const jobs = await store.db.selectFrom("executor_jobs").selectAll().execute();
        return state === "executed" && jobs.every((job) => job.state === "idle");
      });
      return { address, recovery: intent.recovery };
    };
    const { address, recovery } = await executeOne();
    const value = 10n ** 16n;
    await world.client.setBalance({ address, value });
    const before = await sent();
    await executeOne();
    assert.equal(await sent(), before + 1, "the coin was returned without a status request");
    await until("the coin is returned", async () => {
      await look(address);
      return (await world.client.getBalance({ address: recovery })) === value;
    });
  });
});
