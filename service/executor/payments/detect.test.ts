import assert from "node:assert/strict";
import { after, describe, type TestContext, test } from "node:test";
import { type AddressRecord, fromHex, type Hex, toHex } from "executable-address";
import { onlyLong } from "../../../scripts/long.ts";
import type { Endpoint } from "../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { probeData } from "../../chain/status/probe.ts";
import { openStore } from "../../roles/open-store.ts";
import type { Store } from "../../store/store.ts";
import { fatesOf, saveRecords, until } from "../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../testing/executor/executor.ts";
import { startPostgres } from "../../testing/postgres.ts";
import type { Parts } from "../pass.ts";

const { world, store: sqlite } = await prepare({ tickMs: 100 });
const postgres = await startPostgres();
after(postgres.stop);
const pairChars = 128;

type Tamper = (subjects: Hex[], honest: Answer) => Answer;

/**
 * Returns an endpoint like `rpc`, except that `tamper` can change its answers to balance queries.
 */
const tampered = (rpc: Endpoint, tamper: Tamper): Endpoint => ({
  name: rpc.name,
  async ask(calls) {
    const answers = await rpc.ask(calls);
    return answers.map((answer, index) => {
      const vaults = vaultsOf(calls[index]!);
      return vaults ? tamper(vaults, answer) : answer;
    });
  },
});

/** Returns the addresses in a call to the Probe contract, or undefined for other calls. */
function vaultsOf({ method, params }: Call): Hex[] | undefined {
  const { to, data } = (params[0] ?? {}) as { to?: Hex; data?: Hex };
  if (method !== "eth_call" || to || !data) return undefined;
  const chars = data.slice(probeData([]).length);
  return Array.from({ length: chars.length / pairChars }, (_, index): Hex => {
    const at = index * pairChars;
    return `0x${chars.slice(at + 24, at + 64)}`;
  });
}

const zeroes = ({ length }: Hex[], honest: Answer): Answer => {
  if (!("result" in honest)) return honest;
  const head = (honest.result as string).slice(0, 2 + 256);
  return { result: head + `${"0".repeat(128)}${"0".repeat(63)}1${"0".repeat(64)}`.repeat(length) };
};

describe("the search for earlier payments to a new address", () => {
  const start = (
    context: TestContext,
    {
      store = sqlite,
      endpoints = 1,
      ...more
    }: { store?: Store; endpoints?: number } & {
      adapt?: (core: Parts) => Parts;
    } = {},
  ) => {
    const urls = Array.from({ length: endpoints }, () => world.rpcUrl);
    const running = startCore(store, world.chains(urls), more.adapt);
    context.after(running.stop);
    return running;
  };
  const withRpcs = (change: (rpc: Endpoint, index: number) => Endpoint) => (core: Parts) => ({
    ...core,
    endpoints: core.endpoints.map(change),
  });
  const newRecords = (count: number, wish = {}) =>
    Promise.all(Array.from({ length: count }, () => world.newRecord(wish)));
  const sweptNow = async (store: Store) => {
    const head = Number(await world.client.getBlockNumber());
    await until("the blocks of all payments are swept", async () => {
      const row = await store.db
        .selectFrom("anchors")
        .select((select) => select.fn.max("number").as("number"))
        .executeTakeFirst();
      return Number(row?.number ?? 0) > head + 8;
    });
  };
  /**
   * Pays addresses before they are created, and waits until the logs of these payments were read.
   */
  const paidFirst = async (store: Store, records: AddressRecord[]) => {
    await world.pay(records.map((r) => ({ to: r.address, amount: r.intent.amount })));
    await world.mine(2);
    await sweptNow(store);
  };
  const allExecuted = async (records: AddressRecord[]) =>
    (await fatesOf(world, records)).every((fate) => fate.executed === 1);
  const jobsOf = async (store: Store, records: AddressRecord[]) => {
    const rows = await store.db.selectFrom("executor_jobs").selectAll().execute();
    const asked = new Set(records.map(({ address }) => address.toLowerCase()));
    return rows.filter((row) => asked.has(toHex(row.address)));
  };
  const passes = async ({ events }: ReturnType<typeof start>, count: number) => {
    const done = () => events.filter((event) => event.kind === "pass").length;
    const before = done();
    await until("some passes are over", async () => done() >= before + count);
  };

  test("happens once and creates no job if there is no payment", async (context) => {
    const asked: Hex[] = [];
    const running = start(context, {
      adapt: withRpcs((rpc) =>
        tampered(rpc, (vaults, honest) => {
          asked.push(...vaults);
          return honest;
        }),
      ),
    });
    const records = await newRecords(400);
    const elsewhere = await newRecords(5, { chainId: 10 });
    await saveRecords(sqlite, [...records, ...elsewhere]);
    await until("all records are read", async () => asked.length >= 400);
    await passes(running, 5);
    const wanted = records.map(({ address }) => address.toLowerCase()).sort();
    assert.deepEqual(asked.sort(), wanted);
    assert.deepEqual(await jobsOf(sqlite, records), []);
  });

  test("is disabled while `recordsPerPass` is 0", onlyLong, async (context) => {
    const running = start(context, {
      adapt: (core) => ({ ...core, tuning: { ...core.tuning, recordsPerPass: 0 } }),
    });
    const records = await newRecords(2);
    await paidFirst(sqlite, records);
    await saveRecords(sqlite, records);
    await passes(running, 5);
    assert.deepEqual(await jobsOf(sqlite, records), []);
    await running.stop();
    start(context);
    await until("the executor finds them after a restart with a scan", () => allExecuted(records));
  });

  test("finds a payment that one of two endpoints hides", async (context) => {
    start(context, {
      endpoints: 2,
      adapt: withRpcs((rpc, index) => (index === 0 ? tampered(rpc, zeroes) : rpc)),
    });
    const records = await newRecords(3);
    await paidFirst(sqlite, records);
    await saveRecords(sqlite, records);
    await until("all are executed", () => allExecuted(records));
  });

  test(
    "is repeated if only one endpoint answered and hid the payment",
    onlyLong,
    async (context) => {
      let isAlone = true;
      const running = start(context, {
        endpoints: 2,
        adapt: withRpcs((rpc, index) => {
          if (index === 0) return tampered(rpc, zeroes);
          return tampered(rpc, (_, honest) =>
            isAlone ? { error: { code: -32000, message: "header not found" } } : honest,
          );
        }),
      });
      const records = await newRecords(2);
      await paidFirst(sqlite, records);
      await saveRecords(sqlite, records);
      await passes(running, 5);
      assert.deepEqual(await jobsOf(sqlite, records), []);
      isAlone = false;
      await until("all are executed", () => allExecuted(records));
    },
  );

  test("continues for other addresses if one address causes an error", async (context) => {
    const poison = await world.newRecord();
    start(context, {
      adapt: withRpcs((rpc) =>
        tampered(rpc, (vaults, honest) =>
          vaults.includes(poison.address.toLowerCase() as Hex)
            ? { error: { code: -32000, message: "out of gas" } }
            : honest,
        ),
      ),
    });
    const records = await newRecords(40);
    await paidFirst(sqlite, records);
    await saveRecords(sqlite, [...records.slice(0, 20), poison, ...records.slice(20)]);
    await until("the others are executed", () => allExecuted(records));
  });

  test("leads to the return of native coin that arrived earlier", onlyLong, async (context) => {
    start(context);
    const record = await world.newRecord({ secondsLeft: 300 });
    const value = 10n ** 17n;
    await world.client.setBalance({ address: record.address, value });
    // Waits for a new poll. An earlier poll would read the balance at a block without the payment.
    await sweptNow(sqlite);
    await saveRecords(sqlite, [record]);
    await until("it is seen", async () => {
      const [job] = await jobsOf(sqlite, [record]);
      return job?.reason === "underfunded";
    });
    await world.client.increaseTime({ seconds: 400 });
    await until("the coin is returned", async () => {
      return (await world.client.getBalance({ address: record.intent.recovery })) === value;
    });
  });

  test("finds each payment even if two servers have different clocks", async (context) => {
    const open = () => openStore({ dataDirectory: "", databaseUrl: postgres.url });
    const stores = await Promise.all([open(), open(), open()]);
    const running = start(context, { store: stores[2]! });
    const records = await newRecords(60);
    await paidFirst(stores[2]!, records);
    const clockErrorMs = [-30_000, 30_000];
    await Promise.all(
      records.map(({ address, terms }, index) =>
        stores[index % 2]!.saveRecord({
          address: fromHex(address),
          terms: fromHex(terms),
          accountId: `acc_${index % 7}`,
          createdAtMs: Date.now() + clockErrorMs[index % 2]!,
        }),
      ),
    );
    await until("all are executed", () => allExecuted(records), 60);
    await until("no transaction is pending", () => isAtRest(stores[2]!));
    await running.stop();
    for (const store of stores) await store.close();
  });
});
